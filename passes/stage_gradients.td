// Passes that derive training graphs from the model and add gradients.

include "passes/pass_base.td"

def TrainingStep : GradusPass<"training-step"> {
  let summary = "Makes the graphs @train and @evaluate of the model and the recipe's loss";
  let description = [{
    Clones the model, the graph `@predict`, twice and ends each clone in the
    recipe's `loss` and `metrics`:

    * `@train` takes the model's inputs and `label`, and returns `loss` and one
      scalar per metric.
    * `@evaluate` takes `count: tensor<i64>` besides: only the first `count`
      samples of the batch are real, and loss and metrics are of these, so the
      last batch of a data set may be padded with anything. It has no `count`
      where the model itself computes the loss as one number.

    Losses are the rows of the table in `losses.cpp`; docs/losses.md explains
    them. Labels are i64 classes of the shape of `output` without its
    `class_axis`, or numbers of its shape. A `sum` of losses has the labels of
    each; equal names are one input. `loss.output` may be left out of a model
    with one output. Metrics for labels that are classes: `accuracy`, and `top5`,
    the fraction of labels among the five largest logits. The others in
    `metrics` are of the step: see `step-metrics`.

    A program without a recipe, or whose recipe has no loss, is a model to
    predict with and stays as it is. So does one that has a graph `@train`.

    Before:

    ```mlir
    gradus.program @line attributes {recipe = {loss = {type = "mse"}}} {
      gradus.state @slope : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
        %slope = gradus.read @slope : tensor<4xf32>
        %y = arith.mulf %x, %slope : tensor<4xf32>
        gradus.return %y : tensor<4xf32>
      }
    }
    ```

    After, besides `@predict` and `@evaluate`:

    ```mlir
    gradus.program @line attributes {recipe = {loss = {type = "mse"}}} {
      gradus.state @slope : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<4xf32>, %label: tensor<4xf32>) -> (loss: tensor<f32>) {
        %slope = gradus.read @slope : tensor<4xf32>
        %y = arith.mulf %x, %slope : tensor<4xf32>
        %loss = gradus.mean_squared_error %y, %label : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
        gradus.return %loss : tensor<f32>
      }
    }
    ```
  }];
}

def TrainBatchNorm : GradusPass<"train-batch-norm"> {
  let summary = "Makes batch normalizations of @train use the batch and update running statistics";
  let description = [{
    Every `gradus.batch_norm` of `@train` that has a `momentum` becomes a
    `gradus.batch_norm_training`, and its running statistics are written:
    `momentum * old + (1 - momentum) * that of the batch`. The batch's variance
    is divided by N - 1 for this, as in PyTorch, or by N if the recipe says
    `batch_norm_variance = "onnx"`. Ops that share their statistics write them
    once, one after another.

    With `freeze_batch_norm` in the recipe nothing changes. Other graphs use the
    running statistics in any case. An op over a single value per channel is an
    error.

    Before:

    ```mlir
    gradus.program @net {
      gradus.state @mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
      gradus.state @variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.graph @train(%x: tensor<8x4xf32>, %scale: tensor<4xf32>, %bias: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
        %mean = gradus.read @mean : tensor<4xf32>
        %variance = gradus.read @variance : tensor<4xf32>
        %y = gradus.batch_norm %x, %scale, %bias mean %mean variance %variance epsilon 1.0e-5 momentum 0.9
            : tensor<8x4xf32>, tensor<4xf32>
        gradus.return %y : tensor<8x4xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @net {
      gradus.state @mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
      gradus.state @variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.graph @train(%x: tensor<8x4xf32>, %scale: tensor<4xf32>, %bias: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
        %y, %batch_mean, %batch_variance = gradus.batch_norm_training %x, %scale, %bias epsilon 1.0e-5
            : tensor<8x4xf32>, tensor<4xf32>
        %kept = arith.constant dense<0.9> : tensor<4xf32>
        %share = arith.constant dense<0.1> : tensor<4xf32>
        %unbiased = arith.constant dense<0.114285715> : tensor<4xf32> // 0.1 * 8 / 7
        %mean = gradus.read @mean : tensor<4xf32>
        %old_mean = arith.mulf %mean, %kept : tensor<4xf32>
        %term_mean = arith.mulf %batch_mean, %share : tensor<4xf32>
        %new_mean = arith.addf %old_mean, %term_mean : tensor<4xf32>
        %variance = gradus.read @variance : tensor<4xf32>
        %old_variance = arith.mulf %variance, %kept : tensor<4xf32>
        %term_variance = arith.mulf %batch_variance, %unbiased : tensor<4xf32>
        %new_variance = arith.addf %old_variance, %term_variance : tensor<4xf32>
        gradus.write @mean, %new_mean : tensor<4xf32>
        gradus.write @variance, %new_variance : tensor<4xf32>
        gradus.return %y : tensor<8x4xf32>
      }
    }
    ```
  }];
}

def TrainDropout : GradusPass<"train-dropout"> {
  let summary = "Expands dropouts of @train";
  let description = [{
    Every `gradus.dropout` of `@train` becomes `x / (1 - ratio)`, or 0 if 32
    random bits are less than `ratio * 2^32`. The bits are a function of the
    recipe's `seed`, the state `@step`, the op's number among the dropouts and
    the element's index, so a run that is resumed, or that uses another number
    of threads, drops the same elements. The recipe's `dropout` is a ratio for
    all of them; 0 drops nothing. A dropout of ones that is compared with 1 is a
    Bernoulli mask of the model, which keeps its ratio, unless `dropout` is 0.
    Other graphs keep the op, which is the identity. A `gradus.attention` with
    `dropout` counts as a dropout: it gets `step`, its stream and the seed, and
    drops by itself.

    Before:

    ```mlir
    gradus.program @net {
      gradus.graph @train(%x: tensor<8x4xf32>) -> (y: tensor<8x4xf32>) {
        %y = gradus.dropout %x ratio 0.5 : tensor<8x4xf32>
        gradus.return %y : tensor<8x4xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @net {
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<8x4xf32>) -> (y: tensor<8x4xf32>) {
        %step = gradus.read @step : tensor<i64>
        %bits = gradus.random_bits %step stream 0 seed 0 : tensor<8x4xi64>
        %limit = arith.constant dense<2147483648> : tensor<8x4xi64>
        %dropped = arith.cmpi slt, %bits, %limit : tensor<8x4xi64>
        %factor = arith.constant dense<2.0> : tensor<8x4xf32>
        %larger = arith.mulf %x, %factor : tensor<8x4xf32>
        %zero = arith.constant dense<0.0> : tensor<8x4xf32>
        %y = arith.select %dropped, %zero, %larger : tensor<8x4xi1>, tensor<8x4xf32>
        gradus.return %y : tensor<8x4xf32>
      }
    }
    ```
  }];
}

def LossScaleBorders : GradusPass<"loss-scale-borders"> {
  let summary = "Gives the gradients of each group of parameters a loss scale of their own";
  let description = [{
    With `loss_scale = {type = "group", groups = ...}` in the recipe, the
    gradients of each group's parameters are to be the true ones times the
    group's scale, the state `@"loss_scale/0"` for the first group. Each value of
    `@train` that depends on a trained parameter has a level: the highest group
    among the parameters behind it. Where an op of a higher level uses a value, a
    border stands: an identity whose gradient is multiplied by the ratio of both
    scales. So the gradient of any value is the true one times its level's
    scale, also where a layer's input is added again further on and where a
    weight is used in several layers. The gradient of the loss itself is the
    scale of its level.

    The identity is a `gradus.stop_gradient` whose substitute is the value times
    the factor; the product is never computed.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {loss_scale = {type = "group", groups = [["v"], ["w"]], initial = [8.0, 4.0]}}} {
      gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
        %v = gradus.read @v : tensor<f32>
        %w = gradus.read @w : tensor<f32>
        %y = arith.mulf %x, %v : tensor<f32>
        %loss = arith.mulf %y, %w : tensor<f32>
        gradus.return %loss : tensor<f32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {loss_scale = {type = "group", groups = [["v"], ["w"]], initial = [8.0, 4.0]}}} {
      gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @"loss_scale/0" : tensor<f32> {role = #gradus.role<hyperparameter>, init = #gradus.init<constant, 8.0 : f64>}
      gradus.state @"loss_scale/1" : tensor<f32> {role = #gradus.role<hyperparameter>, init = #gradus.init<constant, 4.0 : f64>}
      gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) attributes {gradus.bordered} {
        %scale0 = gradus.read @"loss_scale/0" : tensor<f32>
        %scale1 = gradus.read @"loss_scale/1" : tensor<f32>
        %ratio = arith.divf %scale0, %scale1 {gradus.border = array<i64: 0, 1>} : tensor<f32>
        %v = gradus.read @v : tensor<f32>
        %w = gradus.read @w : tensor<f32>
        %y = arith.mulf %x, %v : tensor<f32>
        %scaled = arith.mulf %y, %ratio : tensor<f32>
        %behind = gradus.stop_gradient %y passing_to %scaled : tensor<f32>
        %loss = arith.mulf %behind, %w : tensor<f32>
        %larger = arith.mulf %loss, %scale1 : tensor<f32>
        %start = gradus.stop_gradient %loss passing_to %larger : tensor<f32>
        gradus.return %start : tensor<f32>
      }
    }
    ```
  }];
}

def Autodiff : GradusPass<"autodiff"> {
  let summary = "Computes the gradient of the loss for every trained parameter";
  let description = [{
    Reverse-mode differentiation of `@train` from its output `loss`, op by op
    through the interface `Differentiable`. Only ops between a trained parameter
    and the loss are differentiated. A value with several uses gets the sum of
    their gradients; integers have none. Each parameter ends in one
    `gradus.update`, on which gradient methods and the optimizer build.

    A parameter is trained if it is a state of role `parameter` whose name
    matches a pattern of the recipe's `trainable` (default: all) and none of its
    `fixed`. A parameter that does not reach the loss gets no update. An op
    without a gradient rule on the path is an error that names the parameters it
    cuts off.

    A `@train` that already updates or writes parameters does not change.

    Before:

    ```mlir
    gradus.program @line {
      gradus.state @slope : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<4xf32>, %label: tensor<4xf32>) -> (loss: tensor<f32>) {
        %slope = gradus.read @slope : tensor<4xf32>
        %y = arith.mulf %x, %slope : tensor<4xf32>
        %loss = gradus.reduce sum %y axes [0] : tensor<4xf32> -> tensor<f32>
        gradus.return %loss : tensor<f32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @line {
      gradus.state @slope : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<4xf32>, %label: tensor<4xf32>) -> (loss: tensor<f32>) {
        %slope = gradus.read @slope : tensor<4xf32>
        %y = arith.mulf %x, %slope : tensor<4xf32>
        %loss = gradus.reduce sum %y axes [0] : tensor<4xf32> -> tensor<f32>
        gradus.update @slope, %x : tensor<4xf32>
        gradus.return %loss : tensor<f32>
      }
    }
    ```
  }];
}
