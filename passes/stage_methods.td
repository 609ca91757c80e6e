// Passes on final gradients.

include "passes/pass_base.td"

def StepMetrics : GradusPass<"step-metrics"> {
  let summary = "Gives @train the metrics that are of the step: gradient norm, learning rate, loss scale";
  let description = [{
    Adds outputs to `@train` and to `@train_accumulate`:

    * `gradient_norm`, where the recipe's `metrics` ask for it: the root of the
      sum of the squares of all trained parameters' gradients, summed over
      batches, without loss scale and before clipping. While gradients are
      accumulated it is that of the sum so far.
    * `learning_rate`, where they ask for it: that of the recipe's `optimizer`
      at this step, under its schedule, without the factors of groups.
    * `loss_scale`, where the recipe has one: what this step multiplied by. Scales
      of groups are `loss_scale/0`, `loss_scale/1`, ...
    * `skipped_steps`, where steps with overflows are skipped: how many there
      were up to this step, itself included.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {metrics = ["gradient_norm"]}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        gradus.update @w, %g : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {metrics = ["gradient_norm"]}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> (gradient_norm: tensor<f32>) {
        gradus.update @w, %g : tensor<4xf32>
        %squares = arith.mulf %g, %g : tensor<4xf32>
        %0 = gradus.reduce sum %squares axes [0] : tensor<4xf32> -> tensor<f32>
        %norm = math.sqrt %0 : tensor<f32>
        gradus.return %norm : tensor<f32>
      }
    }
    ```
  }];
}

def Precondition : GradusPass<"precondition"> {
  let summary = "Multiplies gradients by the inverse curvature of their layers: THOR and K-FAC";
  let description = [{
    With `precondition` in the recipe, the gradient g of each layer's weight
    becomes `G^-1 g A^-1`, where A and G are the damped factors of its inputs
    and outputs (`gradus.factors`). They are inverted block by block, in the
    steps that measure them; other steps read the inverses. The root of
    `damping` is added to each factor; that of a convolution is divided by its
    positions, and so is its direction. A block that is not positive definite
    keeps its last inverse, and `precondition/kept` counts it.

    With `kl_clip` all directions are scaled so that the square of the learning
    rate times the product of gradients and directions is at most that.

    An embedding's rows are divided by the part of the batch that reads them, a
    layer norm's scale and bias by their own squares: `g / (g^2 / B + root)`.

    A bias that joins its weight (`bias` "joined") is multiplied with it, as the
    weight of a last input that is always 1. `placement` says whether the pass
    works before `clip-gradients` or after `weight-decay`.

    Method: THOR of MindSpore, docs/methods/thor.md; K-FAC, Martens and Grosse,
    https://arxiv.org/abs/1503.05671.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {precondition = {type = "thor"}}} {
      gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () {
        gradus.update @w, %dw : tensor<2x3xf32>
        gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
        gradus.return
      }
    }
    ```

    After, where each block is positive definite (what keeps the last inverse of
    one that is not, and counts it, left out):

    ```mlir
    gradus.program @p attributes {recipe = {precondition = {type = "thor"}}} {
      gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @precondition.damping : tensor<f64> {role = #gradus.role<hyperparameter>, init = #gradus.init<constant, 0.03 : f64>}
      gradus.state @"precondition/inputs/w" : tensor<1x3x3xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
      gradus.state @"precondition/outputs/w" : tensor<1x2x2xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
      gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () {
        %damping = gradus.read @precondition.damping : tensor<f64>
        %0 = math.sqrt %damping : tensor<f64>
        %root = arith.truncf %0 : tensor<f64> to tensor<f32>
        %ia = gradus.iota axis 1 : tensor<1x3x3xi64>
        %ja = gradus.iota axis 2 : tensor<1x3x3xi64>
        %diagonala = arith.cmpi eq, %ia, %ja : tensor<1x3x3xi64>
        %roota = gradus.broadcast %root dims [] : tensor<f32> -> tensor<1x3x3xf32>
        %morea = arith.addf %a, %roota : tensor<1x3x3xf32>
        %dampeda = arith.select %diagonala, %morea, %a : tensor<1x3x3xi1>, tensor<1x3x3xf32>
        %inversea = gradus.inverse %dampeda : tensor<1x3x3xf32>
        gradus.write @"precondition/inputs/w", %inversea : tensor<1x3x3xf32>
        %ig = gradus.iota axis 1 : tensor<1x2x2xi64>
        %jg = gradus.iota axis 2 : tensor<1x2x2xi64>
        %diagonalg = arith.cmpi eq, %ig, %jg : tensor<1x2x2xi64>
        %rootg = gradus.broadcast %root dims [] : tensor<f32> -> tensor<1x2x2xf32>
        %moreg = arith.addf %g, %rootg : tensor<1x2x2xf32>
        %dampedg = arith.select %diagonalg, %moreg, %g : tensor<1x2x2xi1>, tensor<1x2x2xf32>
        %inverseg = gradus.inverse %dampedg : tensor<1x2x2xf32>
        gradus.write @"precondition/outputs/w", %inverseg : tensor<1x2x2xf32>
        %outputs = gradus.reshape %inverseg : tensor<1x2x2xf32> -> tensor<2x2xf32>
        %1 = gradus.matmul %outputs, %dw : tensor<2x2xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
        %inputs = gradus.reshape %inversea : tensor<1x3x3xf32> -> tensor<3x3xf32>
        %2 = gradus.matmul %1, %inputs : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
        gradus.update @w, %2 {gradus.preconditioned} : tensor<2x3xf32>
        gradus.return
      }
    }
    ```
  }];
  let options = [
    Option<"at", "at", "std::string", /*default=*/"\"\"",
           "Work only if the recipe's placement is this one">,
  ];
}

def DimReduce : GradusPass<"dim-reduce"> {
  let summary = "Takes the part of the gradient in a subspace to quasi-Newton steps with a line search";
  let description = [{
    With `dim_reduce` in the recipe and the orthonormal rows P of the fixed
    states `dim_reduce/basis/<parameter>`, the part P g of the gradient goes to
    BFGS. With its estimate H of the inverse Hessian the step is d = -H P g. It
    is tried whole, and then times `contraction`: a trial is the loss of the same
    batch, with the same random numbers, at the weights w + r P^T d, and is
    accepted where it is less than f + `sufficient_decrease` r (P g d). The
    weights of the accepted trial, or else w, are written, and the optimizer moves
    these by the rest of the gradient, g - P^T P g. A step of which no trial
    is accepted leaves the estimate as it was; the state `dim_reduce/accepted`
    counts the others.

    With `dealt` each of `distribution.ranks` ranks has as many of the rows as the
    others, with zeros behind the last one, and the states of rows are parts
    (`part_of`) of those of all. P g is put together of what ranks make of their
    rows, and P^T d and P^T P g are summed over them.

    Method: Li et al., https://arxiv.org/abs/2103.11154; docs/methods/dim_reduce.md.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {dim_reduce = {}}} {
      gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @"dim_reduce/basis/w" : tensor<1x3xf32> {fixed, role = #gradus.role<slot>, value = dense<[[1.0, 0.0, 0.0]]> : tensor<1x3xf32>}
      gradus.graph @train(%g: tensor<3xf32>) -> (loss: tensor<f32>) {
        %w = gradus.read @w : tensor<3xf32>
        %square = arith.mulf %w, %w : tensor<3xf32>
        %loss = gradus.reduce sum %square axes [0] : tensor<3xf32> -> tensor<f32>
        gradus.update @w, %g : tensor<3xf32>
        gradus.return %loss : tensor<f32>
      }
    }
    ```

    After, where H is the identity (what learns it and the shorter trial left
    out):

    ```mlir
    gradus.program @p attributes {recipe = {dim_reduce = {}}} {
      gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @"dim_reduce/basis/w" : tensor<1x3xf32> {fixed, role = #gradus.role<slot>, value = dense<[[1.0, 0.0, 0.0]]> : tensor<1x3xf32>}
      gradus.graph @train(%g: tensor<3xf32>) -> (loss: tensor<f32>) {
        %w = gradus.read @w : tensor<3xf32>
        %square = arith.mulf %w, %w : tensor<3xf32>
        %loss = gradus.reduce sum %square axes [0] : tensor<3xf32> -> tensor<f32>
        %rows = gradus.read @"dim_reduce/basis/w" : tensor<1x3xf32>
        %0 = gradus.broadcast %g dims [1] : tensor<3xf32> -> tensor<1x3xf32>
        %1 = arith.mulf %rows, %0 : tensor<1x3xf32>
        %inside = gradus.reduce sum %1 axes [1] : tensor<1x3xf32> -> tensor<1xf32>
        %step = arith.negf %inside : tensor<1xf32>
        %2 = arith.mulf %inside, %step : tensor<1xf32>
        %slope = gradus.reduce sum %2 axes [0] : tensor<1xf32> -> tensor<f32>
        %3 = gradus.broadcast %step dims [0] : tensor<1xf32> -> tensor<1x3xf32>
        %4 = arith.mulf %rows, %3 : tensor<1x3xf32>
        %direction = gradus.reduce sum %4 axes [0] : tensor<1x3xf32> -> tensor<3xf32>
        %candidate = arith.addf %w, %direction : tensor<3xf32>
        %5 = arith.mulf %candidate, %candidate : tensor<3xf32>
        %there = gradus.reduce sum %5 axes [0] : tensor<3xf32> -> tensor<f32>
        %decrease = arith.constant dense<0.4> : tensor<f32>
        %6 = arith.mulf %decrease, %slope : tensor<f32>
        %bound = arith.addf %loss, %6 : tensor<f32>
        %falls = arith.cmpf ogt, %bound, %there : tensor<f32>
        %7 = gradus.broadcast %falls dims [] : tensor<i1> -> tensor<3xi1>
        %start = arith.select %7, %candidate, %w : tensor<3xi1>, tensor<3xf32>
        gradus.write @w, %start : tensor<3xf32>
        %8 = gradus.broadcast %inside dims [0] : tensor<1xf32> -> tensor<1x3xf32>
        %9 = arith.mulf %rows, %8 : tensor<1x3xf32>
        %10 = gradus.reduce sum %9 axes [0] : tensor<1x3xf32> -> tensor<3xf32>
        %rest = arith.subf %g, %10 : tensor<3xf32>
        gradus.update @w, %rest : tensor<3xf32>
        gradus.return %loss : tensor<f32>
      }
    }
    ```
  }];
}

def ClipGradients : GradusPass<"clip-gradients"> {
  let summary = "Clips the gradients by norm or by value";
  let description = [{
    Applies the recipe's `clip` to every gradient, or its `clip_update`, which
    is for what the optimizer gets, behind weight decay and all else:

    * `global_norm`: all are scaled by the same factor, so that their joint norm
      is at most `value`;
    * `norm`: the norm of each is at most `value`;
    * `value`: each element is in [-value, value];
    * `adaptive`: the norm of the gradient of each output's weights is at most
      `value` times that of the weights (Brock et al.,
      https://arxiv.org/abs/2102.06171).

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {clip = {type = "value", value = 0.5}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        gradus.update @w, %g : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {clip = {type = "value", value = 0.5}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        %low = arith.constant dense<-0.5> : tensor<4xf32>
        %high = arith.constant dense<0.5> : tensor<4xf32>
        %0 = arith.maximumf %g, %low : tensor<4xf32>
        %1 = arith.minimumf %0, %high : tensor<4xf32>
        gradus.update @w, %1 : tensor<4xf32>
        gradus.return
      }
    }
    ```
  }];
  let options = [
    Option<"key", "key", "std::string", /*default=*/"\"clip\"",
           "The key of the recipe: clip or clip_update">,
  ];
}

def GradientCentralization : GradusPass<"gradient-centralization"> {
  let summary = "Makes the mean of a weight's gradient zero for each output";
  let description = [{
    With `gradient_centralization` in the recipe, subtracts from the gradient of
    each weight its mean over the inputs of one output: for a convolution over
    all axes but that of output channels, for a dense layer over the contracted
    axis, in either storage order; for embeddings, if `kinds` names them, over
    each row. Other parameters keep their gradients.

    `placement` says whether the pass works before or after `weight-decay`, that
    is without decay or with it. With `compat` "mindspore" it works after, and
    skips convolutions with groups and weights whose second axis is not a
    multiple of 16.

    Method: Yong et al., "Gradient Centralization", ECCV 2020
    (https://arxiv.org/abs/2004.01461); docs/methods/gradient_centralization.md.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {gradient_centralization = {}}} {
      gradus.state @w : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
      gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
        %w = gradus.read @w : tensor<8x4xf32>
        %y = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
        gradus.return %y : tensor<2x8xf32>
      }
      gradus.graph @train(%g: tensor<8x4xf32>) -> () {
        gradus.update @w, %g : tensor<8x4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {gradient_centralization = {}}} {
      gradus.state @w : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
      gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
        %w = gradus.read @w : tensor<8x4xf32>
        %y = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
        gradus.return %y : tensor<2x8xf32>
      }
      gradus.graph @train(%g: tensor<8x4xf32>) -> () {
        %0 = gradus.reduce mean %g axes [1] : tensor<8x4xf32> -> tensor<8xf32>
        %1 = gradus.broadcast %0 dims [0] : tensor<8xf32> -> tensor<8x4xf32>
        %2 = arith.subf %g, %1 : tensor<8x4xf32>
        gradus.update @w, %2 {gradus.centered} : tensor<8x4xf32>
        gradus.return
      }
    }
    ```
  }];
  let options = [
    Option<"at", "at", "std::string", /*default=*/"\"\"",
           "Work only if the recipe's placement is this one">,
  ];
}

def WeightDecay : GradusPass<"weight-decay"> {
  let summary = "Adds weight decay to the gradients of optimizers that take it there";
  let description = [{
    `gradient + weight_decay * parameter`, for optimizers whose decay goes
    through the gradient: all but `adamw`, `lamb`, `lars`, `lion`, `adafactor`
    and `muon`, and those with `decoupled_weight_decay`.
    Where `sparse-reduce` has added momentum to the gradient already, decay adds
    up its own, in the state `sgd/decay/NAME`.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {optimizer = {type = "sgd", weight_decay = 0.5}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        gradus.update @w, %g : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {optimizer = {type = "sgd", weight_decay = 0.5}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        %w = gradus.read @w : tensor<4xf32>
        %decay = arith.constant dense<0.5> : tensor<4xf32>
        %pull = arith.mulf %decay, %w : tensor<4xf32>
        %gradient = arith.addf %g, %pull : tensor<4xf32>
        gradus.update @w, %gradient : tensor<4xf32>
        gradus.return
      }
    }
    ```
  }];
}
