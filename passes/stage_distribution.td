// Passes that merge the gradients of all machines.

include "passes/pass_base.td"

def DataParallel : GradusPass<"data-parallel"> {
  let summary = "Makes ranks train as one process would on the samples of all";
  let description = [{
    With the mode `data_parallel` in the recipe's `distribution`, in `@train` and
    its variants

    * each update gets the mean over ranks of its gradient, or with
      `"mean": false` the sum; `local_clip` bounds each rank's own elements first
      (with `"reduce": "adasum"`, and with sparse sums, a gradient stays a rank's
      own here);
    * random bits of samples are counted on from those of the ranks before;
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
      gradus.graph @train(%g: tensor<4xf32>) -> () attributes {gradus.shared} {
        %ranks = gradus.read @distribution.ranks : tensor<i64>
        %sum = gradus.all_reduce %g {of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
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

def Adasum : GradusPass<"adasum"> {
  let summary = "Combines the gradients of ranks by AdaSum";
  let description = [{
    With `"reduce": "adasum"` in the recipe's `distribution`, each gradient becomes
    the AdaSum of the ranks' own ones: a sum where they are orthogonal, a mean where
    they are equal. With `per` `model` all gradients are one vector, and one
    collective. Those of 16 bits travel in f32.

    With `of` `weights`, where `adasum-weights` combines what the updates have
    changed, gradients become means of the `within` ranks of a group, which so make
    the same update.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "adasum", adasum = {within = 2 : i64}}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        gradus.update @w, %g : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "adasum", adasum = {within = 2 : i64}}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        %all = gradus.all_reduce %g {groups = #gradus.groups<within 2 mean across adasum epsilon 0.0 : f64>, of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
        gradus.update @w, %all : tensor<4xf32>
        gradus.return
      }
    }
    ```
  }];
}

def SparseReduce : GradusPass<"sparse-reduce"> {
  let summary = "Sums the largest elements of the ranks' gradients";
  let description = [{
    With `reduce` `sparse_topk` in the recipe's `distribution`, each rank selects of
    each gradient the part `ratio` of its elements that are largest by their absolute
    value, and sends these with their indices. With `sparse_threshold` it selects
    those that reach `threshold`, of more than the part `capacity` the largest. All
    ranks add up what all have sent, rank by rank.

    Gradients of 16 bits are kept and sent as f32.

    With `error_feedback` what was not sent is the state `kept/residual/NAME`, of
    each rank its own, and is added to its next gradient. With `momentum_correction`
    each rank adds up the momentum of its gradients by itself, in the state
    `kept/momentum/NAME`, which starts anew where an element is sent; `sgd` leaves
    its momentum out then. The first `warmup` updates are `@train_dense`, in which
    gradients are summed whole.

    A message has a fixed size, so `ranks` says their number. Those of gradients
    travel together, up to `bucket_bytes`.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "sparse_topk", ratio = 0.25, ranks = 2 : i64, error_feedback = false}}} {
      gradus.state @w : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<64xf32>) -> () {
        gradus.update @w, %g : tensor<64xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "sparse_topk", ratio = 0.25, ranks = 2 : i64, error_feedback = false}}} {
      gradus.state @w : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @distribution.rank : tensor<i64> {role = #gradus.role<place>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<64xf32>) -> () attributes {gradus.sparse} {
        %two = arith.constant dense<2.0> : tensor<64xf32>
        %zero = arith.constant dense<0.0> : tensor<2x16xf32>
        %none = arith.constant dense<0> : tensor<2x16xi32>
        %i, %v = gradus.select_largest %g : tensor<64xf32> -> tensor<16xi32>, tensor<16xf32>
        %rank = gradus.read @distribution.rank : tensor<i64>
        %ranks = gradus.broadcast %rank dims [] : tensor<i64> -> tensor<2x16xi64>
        %rows = gradus.iota axis 0 : tensor<2x16xi64>
        %own = arith.cmpi eq, %rows, %ranks : tensor<2x16xi64>
        %is = gradus.broadcast %i dims [1] : tensor<16xi32> -> tensor<2x16xi32>
        %part = arith.select %own, %is, %none : tensor<2x16xi1>, tensor<2x16xi32>
        %all = gradus.all_reduce %part {groups = #gradus.groups<within 1 sum across gather epsilon 0.0 : f64>} : tensor<2x16xi32> -> tensor<2x16xi32>
        %vs = gradus.broadcast %v dims [1] : tensor<16xf32> -> tensor<2x16xf32>
        %sent = arith.select %own, %vs, %zero : tensor<2x16xi1>, tensor<2x16xf32>
        %values = gradus.all_reduce %sent {groups = #gradus.groups<within 1 sum across gather epsilon 0.0 : f64>} : tensor<2x16xf32> -> tensor<2x16xf32>
        %at = gradus.reshape %all : tensor<2x16xi32> -> tensor<32xi32>
        %added = gradus.reshape %values : tensor<2x16xf32> -> tensor<32xf32>
        %sum = gradus.scatter_add %added at %at axis 0 : tensor<32xf32>, tensor<32xi32> -> tensor<64xf32>
        %mean = arith.divf %sum, %two : tensor<64xf32>
        gradus.update @w, %mean : tensor<64xf32>
        gradus.return
      }
    }
    ```
  }];
}

def HalfReduce : GradusPass<"half-reduce"> {
  let summary = "Makes gradients travel between ranks in 16 bits";
  let description = [{
    With `reduce` `half` or `bf16` in the recipe's `distribution`, each rank's
    gradient is multiplied by `half_scale`, divided by the number of ranks,
    rounded to f16 or bf16 and summed; the sum is converted back and multiplied
    by the inverse. A guard holds only where the sums are finite.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "half"}}} {
      gradus.graph @train(%g: tensor<4xf32>) -> (sum: tensor<4xf32>) {
        %sum = gradus.all_reduce %g {of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
        gradus.return %sum : tensor<4xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", reduce = "half"}}} {
      gradus.state @distribution.ranks : tensor<i64> {role = #gradus.role<place>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.graph @train(%g: tensor<4xf32>) -> (sum: tensor<4xf32>) {
        %ranks = gradus.read @distribution.ranks : tensor<i64>
        %one = arith.constant dense<1.0> : tensor<f32>
        %count = arith.sitofp %ranks : tensor<i64> to tensor<f32>
        %down = arith.divf %one, %count : tensor<f32>
        %downs = gradus.broadcast %down dims [] : tensor<f32> -> tensor<4xf32>
        %part = arith.mulf %g, %downs : tensor<4xf32>
        %half = arith.truncf %part : tensor<4xf32> to tensor<4xf16>
        %total = gradus.all_reduce %half {of = ["w"]} : tensor<4xf16> -> tensor<4xf16>
        %wide = arith.extf %total : tensor<4xf16> to tensor<4xf32>
        %ups = gradus.broadcast %count dims [] : tensor<f32> -> tensor<4xf32>
        %sum = arith.mulf %wide, %ups : tensor<4xf32>
        gradus.return %sum : tensor<4xf32>
      }
    }
    ```
  }];
}

def DealInverses : GradusPass<"deal-inverses"> {
  let summary = "Lets each rank invert a part of the blocks of curvature";
  let description = [{
    In graphs that `refresh.dealt` of the recipe marks, the blocks of one size that
    all `gradus.inverse` ops invert are put one behind the other, and each of the
    `distribution.ranks` ranks inverts its part of them: as many as the others,
    and the last ones some twice where they are not enough. A gather, to which each
    brings a row of whole lines of 64 bytes, gives all to all.
    What differs between ranks is not touched, nor is a block that is the only
    one of its size.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64}}} {
      gradus.state @a : tensor<4x8x8xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
      gradus.graph @train() -> (y: tensor<4x8x8xf32>) attributes {gradus.dealt} {
        %a = gradus.read @a : tensor<4x8x8xf32>
        %y = gradus.inverse %a : tensor<4x8x8xf32>
        gradus.return %y : tensor<4x8x8xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64}}} {
      gradus.state @a : tensor<4x8x8xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
      gradus.state @distribution.rank : tensor<i64> {role = #gradus.role<place>, init = #gradus.init<zeros>}
      gradus.graph @train() -> (y: tensor<4x8x8xf32>) attributes {gradus.dealt} {
        %a = gradus.read @a : tensor<4x8x8xf32>
        %rank = gradus.read @distribution.rank : tensor<i64>
        %ranks = gradus.broadcast %rank dims [] : tensor<i64> -> tensor<2xi64>
        %two = arith.constant dense<2> : tensor<2xi64>
        %first = arith.muli %ranks, %two : tensor<2xi64>
        %next = gradus.iota axis 0 : tensor<2xi64>
        %index = arith.addi %first, %next : tensor<2xi64>
        %own = gradus.gather %a at %index axis 0 : tensor<4x8x8xf32>, tensor<2xi64> -> tensor<2x8x8xf32>
        %inverse = gradus.inverse %own : tensor<2x8x8xf32>
        %row = gradus.reshape %inverse : tensor<2x8x8xf32> -> tensor<128xf32>
        %place = gradus.iota axis 0 : tensor<2x128xi64>
        %own_place = gradus.broadcast %rank dims [] : tensor<i64> -> tensor<2x128xi64>
        %is_own = arith.cmpi eq, %place, %own_place : tensor<2x128xi64>
        %spread = gradus.broadcast %row dims [1] : tensor<128xf32> -> tensor<2x128xf32>
        %zeros = arith.constant dense<0.0> : tensor<2x128xf32>
        %placed = arith.select %is_own, %spread, %zeros : tensor<2x128xi1>, tensor<2x128xf32>
        %rows = gradus.all_reduce %placed {groups = #gradus.groups<within 1 sum across gather epsilon 0.0 : f64>} : tensor<2x128xf32> -> tensor<2x128xf32>
        %y = gradus.reshape %rows : tensor<2x128xf32> -> tensor<4x8x8xf32>
        gradus.return %y : tensor<4x8x8xf32>
      }
    }
    ```
  }];
}

def CheckRanks : GradusPass<"check-ranks"> {
  let summary = "Refuses a step that would make the states of ranks differ";
  let description = [{
    With the mode `data_parallel`, what is written to a state must be equal on all
    ranks: it may follow from states and from sums over ranks, and not from
    inputs or random numbers of samples alone. States that `differs_along` says
    to be each rank's own are left out. The program does not change.
  }];
}

def BucketCollectives : GradusPass<"bucket-collectives"> {
  let summary = "Joins sums over ranks to buckets that travel together";
  let description = [{
    Sums over ranks begin as soon as their operands are final: what unscales or
    converts a gradient moves up to where that is made. They are joined in this
    order, up to `bucket_bytes` of the recipe's `distribution` in a bucket. What
    comes last, at most an eighth of that, is a bucket of its own, as no computing
    is left behind which it could travel. Sums stay apart where something needs
    a result before the next can begin, or where their types differ.

    With logical ranks, a factor that all ranks share and that is a sum itself is
    moved out of other sums first, which then need not wait for it.

    With `bucket_elements` gradients are cut by SINGA's rule instead: one of more
    elements travels alone, others fill a bucket until they have more. With
    `gradient_splits` the gradients of each group are one bucket, as by
    MindSpore's `comm_fusion`.

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

def LogicalRanks : GradusPass<"logical-ranks"> {
  let summary = "Makes a process compute several ranks in turn";
  let description = [{
    With `logical_ranks` S in the recipe's `distribution`, N processes compute
    t = S/N ranks each, one after the other: t *turns* make a step. Ranks are added
    as the tree of a sum over ranks does, so the bits do not depend on N.

    `@train_partial_k` is a turn that is not a process's last. It adds up k levels
    of the tree, whose sums wait in states of the role `scratch`, and leaves the
    result in level k; it returns zeros and changes nothing else. `@train_final_k`
    is the last of 2^k turns, and `@train` the only one of a process with one rank:
    they sum over processes and update. The state `distribution.turn` counts from
    t - 1 to 2t - 2, so it tells t as well, and the schedule follows from it alone.

    A sum whose operand depends on another sum is refused. In front of each bucket
    there is a border, a sum along the axis `turn`, on which a process is alone:
    codegen stores what it takes and fuses nothing across it, so a rank's own part
    has the same bits in each variant.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {deterministic = true, distribution = {mode = "data_parallel", logical_ranks = 2 : i64}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        %sum = gradus.all_reduce %g {of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
        gradus.write @w, %sum : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {deterministic = true, distribution = {mode = "data_parallel", logical_ranks = 2 : i64}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @distribution.turn : tensor<i64> {role = #gradus.role<place>, init = #gradus.init<zeros>}
      gradus.state @distribution.rank : tensor<i64> {role = #gradus.role<place>, init = #gradus.init<zeros>}
      gradus.state @"logical_ranks/0/w" : tensor<4xf32> {role = #gradus.role<scratch>, init = #gradus.init<zeros>, differs_along = ["data"]}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        %own = gradus.all_reduce %g along "turn" : tensor<4xf32> -> tensor<4xf32>
        %sum = gradus.all_reduce %own {of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
        gradus.write @w, %sum : tensor<4xf32>
        gradus.return
      }
      gradus.graph @train_partial_0(%g: tensor<4xf32>) -> () {
        %one = arith.constant dense<1> : tensor<i64>
        %own = gradus.all_reduce %g along "turn" : tensor<4xf32> -> tensor<4xf32>
        gradus.write @"logical_ranks/0/w", %own : tensor<4xf32>
        %turn = gradus.read @distribution.turn : tensor<i64>
        %next = arith.addi %turn, %one : tensor<i64>
        gradus.write @distribution.turn, %next : tensor<i64>
        %rank = gradus.read @distribution.rank : tensor<i64>
        %other = arith.addi %rank, %one : tensor<i64>
        gradus.write @distribution.rank, %other : tensor<i64>
        gradus.return
      }
      gradus.graph @train_final_1(%g: tensor<4xf32>) -> () {
        %back = arith.constant dense<-1> : tensor<i64>
        %own = gradus.all_reduce %g along "turn" : tensor<4xf32> -> tensor<4xf32>
        %waiting = gradus.read @"logical_ranks/0/w" : tensor<4xf32>
        %both = arith.addf %waiting, %own : tensor<4xf32>
        %sum = gradus.all_reduce %both {of = ["w"]} : tensor<4xf32> -> tensor<4xf32>
        gradus.write @w, %sum : tensor<4xf32>
        %turn = gradus.read @distribution.turn : tensor<i64>
        %first = arith.addi %turn, %back : tensor<i64>
        gradus.write @distribution.turn, %first : tensor<i64>
        %rank = gradus.read @distribution.rank : tensor<i64>
        %lowest = arith.addi %rank, %back : tensor<i64>
        gradus.write @distribution.rank, %lowest : tensor<i64>
        gradus.return
      }
      gradus.schedule @train by @distribution.turn {
        gradus.variant @train_partial_0 every 2 at 1
        gradus.variant @train every 4
        gradus.variant @train_final_1 every 4 at 2
      }
    }
    ```
  }];
}
