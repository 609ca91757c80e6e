// Passes that merge the gradients of all machines.

include "passes/pass_base.td"

def Adasum : GradusPass<"adasum"> {
  let summary = "Reports that a single process has no gradients to merge by AdaSum";
  let description = [{
    AutoBoost's level O2 requests AdaSum, which merges the gradients of several
    servers. There is only one process now, so the program does not change, and
    a remark says so.
  }];
}

def DataParallel : GradusPass<"data-parallel"> {
  let summary = "Makes ranks train as one process would on the samples of all";
  let description = [{
    With the mode `data_parallel` in the recipe's `distribution`, in `@train` and
    its variants

    * each update gets the mean over ranks of its gradient, or with
      `"mean": false` the sum;
    * random bits are counted on from those of the ranks before it;
    * a guard holds where it holds on all ranks, so all of them change their
      states, or none does;
    * running statistics become the mean over ranks, or those of rank 0 with
      `"batch_norm": "local"`;
    * scalar outputs, the loss and metrics, become the mean over ranks.

    The number of ranks is the state `distribution.ranks`.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel"}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        gradus.update @w, %g : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel"}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @distribution.ranks : tensor<i64> {role = #gradus.role<place>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        %ranks = gradus.read @distribution.ranks : tensor<i64>
        %sum = gradus.all_reduce %g : tensor<4xf32> -> tensor<4xf32>
        %count = arith.sitofp %ranks : tensor<i64> to tensor<f32>
        %counts = gradus.broadcast %count dims [] : tensor<f32> -> tensor<4xf32>
        %mean = arith.divf %sum, %counts : tensor<4xf32>
        gradus.update @w, %mean : tensor<4xf32>
        gradus.return
      }
    }
    ```
  }];
}

def BucketCollectives : GradusPass<"bucket-collectives"> {
  let summary = "Joins sums over ranks to buckets that travel together";
  let description = [{
    Sums over ranks are joined in the order in which their operands become final,
    up to `bucket_bytes` of the recipe's `distribution` in a bucket. What comes
    last, at most an eighth of that, is a bucket of its own, as no computing is
    left behind which it could travel. Sums stay apart where one needs the
    other, or where something needs a result before the next operand is made.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {bucket_bytes = 1024 : i64}}} {
      gradus.graph @train(%a: tensor<4xf32>, %b: tensor<2xf32>) -> (x: tensor<4xf32>, y: tensor<2xf32>) {
        %x = gradus.all_reduce %a : tensor<4xf32> -> tensor<4xf32>
        %y = gradus.all_reduce %b : tensor<2xf32> -> tensor<2xf32>
        gradus.return %x, %y : tensor<4xf32>, tensor<2xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {bucket_bytes = 1024 : i64}}} {
      gradus.graph @train(%a: tensor<4xf32>, %b: tensor<2xf32>) -> (x: tensor<4xf32>, y: tensor<2xf32>) {
        %x, %y = gradus.all_reduce %a, %b : tensor<4xf32>, tensor<2xf32> -> tensor<4xf32>, tensor<2xf32>
        gradus.return %x, %y : tensor<4xf32>, tensor<2xf32>
      }
    }
    ```
  }];
}
