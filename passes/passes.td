// What each pass does, with a program before and after it. Their order is in
// pipeline.cpp; the page docs/reference/passes.md is made of this file.

#ifndef GRADUS_PASSES_TD
#define GRADUS_PASSES_TD

include "mlir/Pass/PassBase.td"

class GradusPass<string name> : Pass<name, "::gradus::ProgramOp"> {
  let dependentDialects = ["::gradus::GradusDialect"];
}

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

def RecognizeAttention : GradusPass<"recognize-attention"> {
  let summary = "Makes one op of the products and the softmax that exporters write for attention";
  let description = [{
    Takes `matmul(softmax(scale * matmul(q, k^T) + mask), v)` together as
    `gradus.attention`, if nobody else needs the scores or the probabilities:

    * Factors of q, k^T and the scores, and divisors of the scores, that are one
      number make the scale.
    * What is added to the scores is the mask, before it is broadcast; so is a
      choice between a score and -inf, or, if it is known to leave each query a
      key, a number less than -1e9. A constant that hides from each query
      the keys behind it, and nothing else, is `causal`.
    * A choice of 0 where the softmax is NaN, as newer exporters write it for
      queries that see no key, goes: the op gives such queries zeros.
    * Transposes of k are undone.
    * A dropout of the probabilities becomes the op's own.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x16x8xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<2x1x8x8xf32>) -> (y: tensor<2x4x8x16xf32>) {
        %root = arith.constant dense<0.5> : tensor<2x4x8x16xf32>
        %0 = arith.mulf %q, %root : tensor<2x4x8x16xf32>
        %1 = gradus.matmul %0, %k : tensor<2x4x8x16xf32>, tensor<2x4x16x8xf32> -> tensor<2x4x8x8xf32>
        %2 = gradus.broadcast %m dims [0, 1, 2, 3] : tensor<2x1x8x8xf32> -> tensor<2x4x8x8xf32>
        %3 = arith.addf %1, %2 : tensor<2x4x8x8xf32>
        %4 = gradus.softmax %3 axis 3 : tensor<2x4x8x8xf32>
        %y = gradus.matmul %4, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
        gradus.return %y : tensor<2x4x8x16xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x16x8xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<2x1x8x8xf32>) -> (y: tensor<2x4x8x16xf32>) {
        %0 = gradus.transpose %k perm [0, 1, 3, 2] : tensor<2x4x16x8xf32> -> tensor<2x4x8x16xf32>
        %y, %l = gradus.attention %q, %0, %v mask %m {scale = 0.5 : f64}
            : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x1x8x8xf32>)
            -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>)
        gradus.return %y : tensor<2x4x8x16xf32>
      }
    }
    ```
  }];
}

def CheckCombinations : GradusPass<"check-combinations"> {
  let summary = "Refuses methods of the recipe that exclude each other";
  let description = [{
    The table of pairs stands in `pipeline.cpp`, with the reason for each. The
    program stays as it is.
  }];
}

def AddedPasses : GradusPass<"added-passes"> {
  let summary = "Runs the passes that the recipe adds at the end of a stage";
  let description = [{
    An entry `STAGE:PASS` of the recipe's `passes` names a stage of `pipeline.cpp`
    and a pass in MLIR's pipeline syntax, such as `methods:gradient-noise` or
    `methods:gradient-noise{scale=0.1}`: one of a plug-in (docs/add_a_pass.md) or
    one of Gradus. It runs on the program, or on each graph of it. What it leaves
    is verified, so that a mistake is told of the pass that made it.

    The program keeps the stages whose passes ran as `added_passes`; they do not
    run again.
  }];
  let options = [
    Option<"stage", "stage", "std::string", /*default=*/"",
           "The stage that has just run">,
  ];
}

def LessBn : GradusPass<"less-bn"> {
  let summary = "Takes batch normalizations out of blocks that have several";
  let description = [{
    With `less_bn` in the recipe, rewrites `@predict`, of which the other graphs
    are made. In each block of the model one batch normalization is enough:

    * residual: of a branch of convolutions, the last one before the join stays;
      that of a projection on the other branch goes.
    * depthwise: of expansion, depthwise convolution and projection, that of the
      expansion goes, where its input has no activation. So does that of the
      last convolution before the head.
    * dense: that of what was concatenated goes; in a layer after a pool the
      second one; and that of a transition.

    Operands of joins come in any order. A batch normalization of the model's
    input, one whose result is used elsewhere, and those that `keep` names stay.
    Nothing makes up for what is taken out, so it is for models that are trained
    from the start. A state that nobody reads any more goes, too. A remark tells
    of each batch normalization why it went or stayed.

    Method: LessBN of MindSpore's Boost; docs/methods/less_bn.md.

    Before:

    ```mlir
    gradus.program @block attributes {recipe = {less_bn = {}}} {
      gradus.state @conv1.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
      gradus.state @bn1.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.state @bn1.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @bn1.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
      gradus.state @bn1.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.state @conv2.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
      gradus.state @bn2.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.state @bn2.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @bn2.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
      gradus.state @bn2.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.graph @predict(%x: tensor<8x4x6x6xf32>) -> (y: tensor<8x4x6x6xf32>) {
        %w1 = gradus.read @conv1.weight : tensor<4x4x3x3xf32>
        %w2 = gradus.read @conv2.weight : tensor<4x4x3x3xf32>
        %in = gradus.relu %x : tensor<8x4x6x6xf32>
        %scale1 = gradus.read @bn1.weight : tensor<4xf32>
        %bias1 = gradus.read @bn1.bias : tensor<4xf32>
        %mean1 = gradus.read @bn1.mean : tensor<4xf32>
        %variance1 = gradus.read @bn1.variance : tensor<4xf32>
        %scale2 = gradus.read @bn2.weight : tensor<4xf32>
        %bias2 = gradus.read @bn2.bias : tensor<4xf32>
        %mean2 = gradus.read @bn2.mean : tensor<4xf32>
        %variance2 = gradus.read @bn2.variance : tensor<4xf32>
        %c1 = gradus.convolution %in, %w1 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]
            : tensor<8x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<8x4x6x6xf32>
        %n1 = gradus.batch_norm %c1, %scale1, %bias1 mean %mean1 variance %variance1 epsilon 1.0e-5 momentum 0.9
            : tensor<8x4x6x6xf32>, tensor<4xf32>
        %r = gradus.relu %n1 : tensor<8x4x6x6xf32>
        %c2 = gradus.convolution %r, %w2 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]
            : tensor<8x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<8x4x6x6xf32>
        %n2 = gradus.batch_norm %c2, %scale2, %bias2 mean %mean2 variance %variance2 epsilon 1.0e-5 momentum 0.9
            : tensor<8x4x6x6xf32>, tensor<4xf32>
        %y = arith.addf %n2, %in : tensor<8x4x6x6xf32>
        gradus.return %y : tensor<8x4x6x6xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @block attributes {recipe = {less_bn = {}}} {
      gradus.state @conv1.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
      gradus.state @conv2.weight : tensor<4x4x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
      gradus.state @bn2.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.state @bn2.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @bn2.mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
      gradus.state @bn2.variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.graph @predict(%x: tensor<8x4x6x6xf32>) -> (y: tensor<8x4x6x6xf32>) {
        %w1 = gradus.read @conv1.weight : tensor<4x4x3x3xf32>
        %w2 = gradus.read @conv2.weight : tensor<4x4x3x3xf32>
        %in = gradus.relu %x : tensor<8x4x6x6xf32>
        %scale2 = gradus.read @bn2.weight : tensor<4xf32>
        %bias2 = gradus.read @bn2.bias : tensor<4xf32>
        %mean2 = gradus.read @bn2.mean : tensor<4xf32>
        %variance2 = gradus.read @bn2.variance : tensor<4xf32>
        %c1 = gradus.convolution %in, %w1 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]
            : tensor<8x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<8x4x6x6xf32>
        %r = gradus.relu %c1 : tensor<8x4x6x6xf32>
        %c2 = gradus.convolution %r, %w2 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]
            : tensor<8x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<8x4x6x6xf32>
        %n2 = gradus.batch_norm %c2, %scale2, %bias2 mean %mean2 variance %variance2 epsilon 1.0e-5 momentum 0.9
            : tensor<8x4x6x6xf32>, tensor<4xf32>
        %y = arith.addf %n2, %in : tensor<8x4x6x6xf32>
        gradus.return %y : tensor<8x4x6x6xf32>
      }
    }
    ```
  }];
}

def FcToFn : GradusPass<"fc-to-fn"> {
  let summary = "Normalizes inputs and weights of the dense layer that gives the model's output";
  let description = [{
    With `fc_to_fn` in the recipe, the last dense layer of `@predict` becomes
    `multiplier * norm(x) norm(W)^T` with `norm(z) = z / sqrt(max(sum z^2,
    epsilon))`, row by row, and a new parameter `<layer>.multiplier`, 1 at first.
    The layer's bias goes, unless `fc_to_fn.bias` keeps it, inside the brackets.

    Method: the FN layer of MindSpore's Boost; docs/methods/less_bn.md.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {fc_to_fn = {}}} {
      gradus.state @fc.weight : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
      gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
        %w = gradus.read @fc.weight : tensor<8x4xf32>
        %y = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
        gradus.return %y : tensor<2x8xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {fc_to_fn = {}}} {
      gradus.state @fc.weight : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
      gradus.state @fc.multiplier : tensor<1xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
      gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
        %w = gradus.read @fc.weight : tensor<8x4xf32>
        %least = arith.constant dense<1.0e-4> : tensor<2xf32>
        %0 = arith.mulf %x, %x : tensor<2x4xf32>
        %1 = gradus.reduce sum %0 axes [1] : tensor<2x4xf32> -> tensor<2xf32>
        %2 = arith.maximumf %1, %least : tensor<2xf32>
        %3 = math.sqrt %2 : tensor<2xf32>
        %4 = gradus.broadcast %3 dims [0] : tensor<2xf32> -> tensor<2x4xf32>
        %5 = arith.divf %x, %4 : tensor<2x4xf32>
        %least_w = arith.constant dense<1.0e-4> : tensor<8xf32>
        %6 = arith.mulf %w, %w : tensor<8x4xf32>
        %7 = gradus.reduce sum %6 axes [1] : tensor<8x4xf32> -> tensor<8xf32>
        %8 = arith.maximumf %7, %least_w : tensor<8xf32>
        %9 = math.sqrt %8 : tensor<8xf32>
        %10 = gradus.broadcast %9 dims [0] : tensor<8xf32> -> tensor<8x4xf32>
        %11 = arith.divf %w, %10 : tensor<8x4xf32>
        %12 = gradus.matmul %5, %11 transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
        %m = gradus.read @fc.multiplier : tensor<1xf32>
        %13 = gradus.reshape %m : tensor<1xf32> -> tensor<f32>
        %14 = gradus.broadcast %13 dims [] : tensor<f32> -> tensor<2x8xf32>
        %y = arith.mulf %14, %12 : tensor<2x8xf32>
        gradus.return %y : tensor<2x8xf32>
      }
    }
    ```
  }];
}

def MixedPrecision : GradusPass<"mixed-precision"> {
  let summary = "Lets products compute in 16 bits, as the recipe's precision asks";
  let description = [{
    With `precision` "bf16" or "f16" in the recipe, rewrites `@predict`:

    * Products (matmul, convolutions) take 16-bit operands and sum in f32.
      Parameters are rounded where they are read; they stay f32 as states.
    * What comes of products is stored in 16 bits, also through batch norms,
      max pools, relu and moves of elements. Other arithmetic is f32, of which
      the last result is rounded, if no operand is wider.
    * All else is f32: softmax, layer norms, sums and means, attention,
      embeddings, losses.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {precision = "bf16"}} {
      gradus.state @w : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
        %w = gradus.read @w : tensor<8x4xf32>
        %0 = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
        %y = gradus.relu %0 : tensor<2x8xf32>
        gradus.return %y : tensor<2x8xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {precision = "bf16"}} {
      gradus.state @w : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
        %0 = arith.truncf %x : tensor<2x4xf32> to tensor<2x4xbf16>
        %w = gradus.read @w : tensor<8x4xf32>
        %1 = arith.truncf %w : tensor<8x4xf32> to tensor<8x4xbf16>
        %2 = gradus.matmul %0, %1 transposed : tensor<2x4xbf16>, tensor<8x4xbf16> -> tensor<2x8xf32>
        %3 = arith.truncf %2 : tensor<2x8xf32> to tensor<2x8xbf16>
        %4 = gradus.relu %3 : tensor<2x8xbf16>
        %y = arith.extf %4 : tensor<2x8xbf16> to tensor<2x8xf32>
        gradus.return %y : tensor<2x8xf32>
      }
    }
    ```
  }];
}

def TrainBatchNorm : GradusPass<"train-batch-norm"> {
  let summary = "Lets batch normalizations of @train use the batch and keep running statistics";
  let description = [{
    Every `gradus.batch_norm` of `@train` that has a `momentum` becomes a
    `gradus.batch_norm_training`, and its running statistics are written:
    `momentum * old + (1 - momentum) * that of the batch`. The running variance
    takes the batch's divided by N - 1, as PyTorch does, or by N where the
    recipe says `batch_norm_variance = "onnx"`. Ops that share their statistics
    write them once, one after the other.

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
  let summary = "Lets dropouts of @train drop";
  let description = [{
    Every `gradus.dropout` of `@train` becomes `x / (1 - ratio)`, or 0 where 32
    random bits are less than `ratio * 2^32`. The bits are a function of the
    recipe's `seed`, the state `@step`, the op's number among the dropouts and
    the element's place, so a run that is resumed, or that takes another number
    of threads, drops the same elements. The recipe's `dropout` is a ratio for
    all of them; 0 drops nothing. Other graphs keep the op, which is the
    identity. A `gradus.attention` with `dropout` is one of the dropouts: it
    gets `step`, its stream and the seed, and draws by itself.

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

def Autodiff : GradusPass<"autodiff"> {
  let summary = "Gives every trained parameter the gradient of the loss";
  let description = [{
    Reverse-mode differentiation of `@train` from its output `loss`, op by op
    through the interface `Differentiable`. What lies between a trained
    parameter and the loss is differentiated, and nothing else. A value used
    several times gets the sum of its uses' gradients; integers carry none.
    Each parameter ends in one `gradus.update`, where gradient methods and the
    optimizer take over.

    Trained is a state of role `parameter` whose name matches a pattern of the
    recipe's `trainable` (default: all) and none of its `fixed`. A parameter
    that does not reach the loss gets no update. An op without a gradient rule
    on the way is an error that names the parameters it cuts off.

    A `@train` that updates or writes parameters already stays as it is.

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

def GradientFreeze : GradusPass<"gradient-freeze"> {
  let summary = "Lets a part of the steps train the last layers alone";
  let description = [{
    With `gradient_freeze` in the recipe, `@train` gets variants `@train_cut1`,
    `@train_cut2`, ..., one for each of its `groups` but the first: each trains
    the parameters from a later layer on. It is `@train` without the other
    updates, so that nobody needs the backward pass of the layers before. All
    variants share the optimizer's states, which those of frozen parameters
    keep.

    Which variant is next each step writes into the state
    `gradient_freeze/cut`, by a table: with `type` 0 `p (groups - 1) / (1 - p)`
    steps that train everything and then each variant in turn, with `type` 1
    frozen steps wherever they are fewer than 1 - p of all, drawn by `seed`, cuts
    near the beginning more often. `strategy` is a table of one's own.

    `from`, `until` and `last_layers` name by hand what rests, in place of groups:
    there is a variant for each phase of training, and the state is written by
    comparing the step's number. An update says for how many steps its parameter
    rested before (`gradus.rested`), which its optimizer does not count. With
    `accumulation` all of these numbers are those of updates, and the last batch
    of one has the number of variants added to its place in the schedule.

    Method: GradientFreeze of MindSpore's Boost; docs/methods/gradient_freeze.md.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {gradient_freeze = {groups = 2 : i64, strategy = [0 : i64, 1 : i64]}}} {
      gradus.state @v : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4x4xf32>, %h: tensor<4x4xf32>) -> () {
        gradus.update @v, %g : tensor<4x4xf32>
        gradus.update @w, %h : tensor<4x4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {gradient_freeze = {groups = 2 : i64, strategy = [0 : i64, 1 : i64]}}} {
      gradus.state @v : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.state @"gradient_freeze/cut" : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4x4xf32>, %h: tensor<4x4xf32>) -> () {
        gradus.update @v, %g : tensor<4x4xf32>
        gradus.update @w, %h : tensor<4x4xf32>
        %step = gradus.read @step : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %length = arith.constant dense<2> : tensor<i64>
        %0 = arith.addi %step, %one : tensor<i64>
        %1 = arith.remsi %0, %length : tensor<i64>
        %table = arith.constant dense<[0, 1]> : tensor<2xi64>
        %next = gradus.gather %table at %1 axis 0 : tensor<2xi64>, tensor<i64> -> tensor<i64>
        gradus.write @"gradient_freeze/cut", %next : tensor<i64>
        gradus.return
      }
      gradus.graph @train_cut1(%g: tensor<4x4xf32>, %h: tensor<4x4xf32>) -> () {
        gradus.update @w, %h : tensor<4x4xf32>
        %step = gradus.read @step : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %length = arith.constant dense<2> : tensor<i64>
        %0 = arith.addi %step, %one : tensor<i64>
        %1 = arith.remsi %0, %length : tensor<i64>
        %table = arith.constant dense<[0, 1]> : tensor<2xi64>
        %next = gradus.gather %table at %1 axis 0 : tensor<2xi64>, tensor<i64> -> tensor<i64>
        gradus.write @"gradient_freeze/cut", %next : tensor<i64>
        gradus.return
      }
      gradus.schedule @train by @"gradient_freeze/cut" {
        gradus.variant @train every 2
        gradus.variant @train_cut1 every 2 at 1
      }
    }
    ```
  }];
}

def LossScale : GradusPass<"loss-scale"> {
  let summary = "Takes the loss scale off the gradients and guards the step against overflow";
  let description = [{
    Where the recipe has a `loss_scale`, autodiff has multiplied every gradient
    by it; here they are divided by it again. `static` scales stay as they are;
    a `dynamic` one is the state `@loss_scale`: after a step whose gradients are
    not finite it is divided by `factor` (but not below `minimum`), after
    `growth_interval` steps without such it is multiplied by `factor`.

    A `gradus.guard` keeps a step whose gradients are not finite from changing
    any other state; `@skipped_steps` counts them. The same guard alone stands
    for `on_nonfinite = "skip"`.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {loss_scale = {type = "static", initial = 8.0}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        gradus.update @w, %g : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {loss_scale = {type = "static", initial = 8.0}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @skipped_steps : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        %zero = arith.constant dense<0.0> : tensor<4xf32>
        %zeros = arith.mulf %g, %zero : tensor<4xf32>
        %total = gradus.reduce sum %zeros axes [0] : tensor<4xf32> -> tensor<f32>
        %none = arith.constant dense<0.0> : tensor<f32>
        %finite = arith.cmpf oeq, %total, %none : tensor<f32>
        %eighth = arith.constant dense<0.125> : tensor<4xf32>
        %gradient = arith.mulf %g, %eighth : tensor<4xf32>
        %skipped = gradus.read @skipped_steps : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %more = arith.addi %skipped, %one : tensor<i64>
        %count = arith.select %finite, %skipped, %more : tensor<i1>, tensor<i64>
        gradus.write @skipped_steps, %count : tensor<i64>
        gradus.guard %finite always [@step, @skipped_steps]
        gradus.update @w, %gradient : tensor<4xf32>
        gradus.return
      }
    }
    ```
  }];
}

def GradientAccumulation : GradusPass<"gradient-accumulation"> {
  let summary = "Sums the gradients of several batches before an update";
  let description = [{
    With `accumulation = k` in the recipe, `@train` updates with the mean of the
    gradients of k batches, which is that of one batch k times as large where
    the loss is a mean and nothing else depends on the batch (batch
    normalization does). The graph gets a variant `@train_accumulate` that only
    adds to the states `accumulation/gradient/<parameter>`, and a schedule that
    runs the whole one every k-th step. `@step` counts batches; learning rates
    and bias corrections count updates.

    Each variant that gradient freezing made gets one too, such as
    `@train_accumulate_cut1`, in the schedule that is there.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {accumulation = 2 : i64}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        gradus.update @w, %g : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After (what `@train_accumulate` computes alike left out):

    ```mlir
    gradus.program @p attributes {recipe = {accumulation = 2 : i64}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.state @"accumulation/gradient/w" : tensor<4xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        %old = gradus.read @"accumulation/gradient/w" : tensor<4xf32>
        %step = gradus.read @step : tensor<i64>
        %two = arith.constant dense<2> : tensor<i64>
        %none = arith.constant dense<0> : tensor<i64>
        %place = arith.remsi %step, %two : tensor<i64>
        %begins = arith.cmpi eq, %place, %none : tensor<i64>
        %everywhere = gradus.broadcast %begins dims [] : tensor<i1> -> tensor<4xi1>
        %zero = arith.constant dense<0.0> : tensor<4xf32>
        %so_far = arith.select %everywhere, %zero, %old : tensor<4xi1>, tensor<4xf32>
        %count = arith.constant dense<2.0> : tensor<4xf32>
        %share = arith.divf %g, %count : tensor<4xf32>
        %sum = arith.addf %so_far, %share : tensor<4xf32>
        gradus.update @w, %sum : tensor<4xf32>
        gradus.return
      }
      gradus.graph @train_accumulate(%g: tensor<4xf32>) -> () {
        %sum = gradus.read @"accumulation/gradient/w" : tensor<4xf32>
        gradus.write @"accumulation/gradient/w", %sum : tensor<4xf32>
        %step = gradus.read @step : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %next = arith.addi %step, %one : tensor<i64>
        gradus.write @step, %next : tensor<i64>
        gradus.return
      }
      gradus.schedule @train by @step {
        gradus.variant @train_accumulate
        gradus.variant @train every 2 at 1
      }
    }
    ```
  }];
}

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
    * `loss_scale`, where the recipe has one: what this step multiplied by.
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

def ClipGradients : GradusPass<"clip-gradients"> {
  let summary = "Bounds the gradients by norm or by value";
  let description = [{
    Does what the recipe's `clip` says to every gradient:

    * `global_norm`: all are scaled alike, so that together they are at most
      `value` long;
    * `norm`: each is at most `value` long;
    * `value`: each element lies in [-value, value];
    * `adaptive`: the gradient of each output's weights is at most `value` times
      as long as the weights (Brock et al., https://arxiv.org/abs/2102.06171).

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
}

def WeightDecay : GradusPass<"weight-decay"> {
  let summary = "Adds weight decay to the gradients of optimizers that take it there";
  let description = [{
    `gradient + weight_decay * parameter`, for optimizers whose decay goes
    through the gradient: all but `adamw`, `lamb`, `lars`, `lion`, `adafactor`
    and `muon`, and those with `decoupled_weight_decay`.

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

def Adasum : GradusPass<"adasum"> {
  let summary = "Says that a single process has no gradients to merge by AdaSum";
  let description = [{
    AutoBoost's level O2 asks for AdaSum, which merges the gradients of several
    servers. There is one process now, so the program stays as it is, and a
    remark says so.
  }];
}

def GradientCentralization : GradusPass<"gradient-centralization"> {
  let summary = "Gives the gradients of weights zero mean for each output";
  let description = [{
    With `gradient_centralization` in the recipe, takes off the gradient of each
    weight its mean over the inputs of one output: of a convolution over all
    axes but that of output channels, of a dense layer over the axis that its
    product sums over, whichever way round it is stored; of embeddings, where
    `kinds` names them, over each row. Other parameters keep their gradients.

    `placement` says whether the pass works before or after `weight-decay`, that
    is without decay or with it. With `compat` "mindspore" it works after, leaves
    out convolutions in groups and weights whose second axis is no multiple of
    16.

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
    Option<"placement", "placement", "std::string", /*default=*/"\"\"",
           "Work only if the recipe's placement is this one">,
  ];
}

def ExpandOptimizer : GradusPass<"expand-optimizer"> {
  let summary = "Turns every update into the optimizer's arithmetic and writes";
  let description = [{
    Replaces each op of the interface `ParameterUpdate` in `@train` by the
    update rule of the recipe's `optimizer` and a `gradus.write` of the new
    parameter. What the optimizer remembers becomes states named
    `<optimizer>/<slot>/<parameter>`. The state `@step` counts the steps; the
    learning rate is computed from it in the graph, in f64.

    The optimizers stand in `passes/optimizers/`, one file each, whose head has
    the formula; docs/optimizers.md lists them. The recipe's `groups` change
    settings of the parameters that a pattern of `match` names; a later group
    wins. Coupled weight decay is in the gradient already (`weight-decay`).

    A program without updates stays as it is.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {optimizer = {type = "sgd", learning_rate = 0.1}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        gradus.update @w, %g : tensor<4xf32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {optimizer = {type = "sgd", learning_rate = 0.1}}} {
      gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.graph @train(%g: tensor<4xf32>) -> () {
        %w = gradus.read @w : tensor<4xf32>
        %rate = arith.constant dense<0.1> : tensor<4xf32>
        %move = arith.mulf %rate, %g : tensor<4xf32>
        %new = arith.subf %w, %move : tensor<4xf32>
        gradus.write @w, %new : tensor<4xf32>
        %step = gradus.read @step : tensor<i64>
        %one = arith.constant dense<1> : tensor<i64>
        %next = arith.addi %step, %one : tensor<i64>
        gradus.write @step, %next : tensor<i64>
        gradus.return
      }
    }
    ```
  }];
}

def AverageWeights : GradusPass<"average-weights"> {
  let summary = "Keeps a moving average of the parameters, and a graph that evaluates it";
  let description = [{
    With `ema = {decay}` in the recipe, each parameter that is trained has a
    state `ema/average/<parameter>`, `decay * average + (1 - decay) * parameter`
    after each update and the parameter itself after the first. The graph
    `@evaluate_ema` is `@evaluate` with these in place of the parameters, or with
    the parameters where there was no update yet.

    An average follows every step, also where gradient freezing lets its
    parameter rest.

    Before:

    ```mlir
    gradus.program @p attributes {recipe = {ema = {decay = 0.75}}} {
      gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%new: tensor<f32>) -> () {
        gradus.write @w, %new : tensor<f32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p attributes {recipe = {ema = {decay = 0.75}}} {
      gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
      gradus.state @"ema/average/w" : tensor<f32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
      gradus.graph @train(%new: tensor<f32>) -> () {
        gradus.write @w, %new : tensor<f32>
        %step = gradus.read @step : tensor<i64>
        %none = arith.constant dense<0> : tensor<i64>
        %first = arith.cmpi eq, %step, %none : tensor<i64>
        %old = gradus.read @"ema/average/w" : tensor<f32>
        %part = arith.constant dense<0.25> : tensor<f32>
        %difference = arith.subf %new, %old : tensor<f32>
        %change = arith.mulf %part, %difference : tensor<f32>
        %moved = arith.addf %old, %change : tensor<f32>
        %average = arith.select %first, %new, %moved : tensor<i1>, tensor<f32>
        gradus.write @"ema/average/w", %average : tensor<f32>
        gradus.return
      }
    }
    ```
  }];
}

def ExpandGuards : GradusPass<"expand-guards"> {
  let summary = "Turns guards into selections between new and old values";
  let description = [{
    Each `gradus.guard` becomes, for every write of its graph but those of the
    states that it lists, a selection of the written value where the condition
    holds and of the state's value at entry where it does not.

    Before:

    ```mlir
    gradus.program @p {
      gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%new: tensor<f32>, %finite: tensor<i1>) -> () {
        gradus.guard %finite
        gradus.write @w, %new : tensor<f32>
        gradus.return
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%new: tensor<f32>, %finite: tensor<i1>) -> () {
        %w = gradus.read @w : tensor<f32>
        %kept = arith.select %finite, %new, %w : tensor<i1>, tensor<f32>
        gradus.write @w, %kept : tensor<f32>
        gradus.return
      }
    }
    ```
  }];
}

def RecognizeGelu : GradusPass<"recognize-gelu"> {
  let summary = "Makes gelu of the products that exporters write for it";
  let description = [{
    `0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))` and
    `0.5 x (1 + erf(x / sqrt(2)))` become `gradus.gelu`, whichever way round
    their products are written; numbers may differ by a ten thousandth.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
        %root = arith.constant dense<1.41421354> : tensor<4xf32>
        %one = arith.constant dense<1.0> : tensor<4xf32>
        %half = arith.constant dense<0.5> : tensor<4xf32>
        %0 = arith.divf %x, %root : tensor<4xf32>
        %1 = math.erf %0 : tensor<4xf32>
        %2 = arith.addf %1, %one : tensor<4xf32>
        %3 = arith.mulf %x, %2 : tensor<4xf32>
        %y = arith.mulf %3, %half : tensor<4xf32>
        gradus.return %y : tensor<4xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
        %y = gradus.gelu %x : tensor<4xf32>
        gradus.return %y : tensor<4xf32>
      }
    }
    ```
  }];
}

def StoreRoundedWeights : GradusPass<"store-rounded-weights"> {
  let summary = "Keeps the 16-bit copies of weights that a step computes with";
  let description = [{
    Where `@train` rounds a weight to 16 bits, the copy becomes a state,
    `bf16/copy/<weight>` or `f16/copy/<weight>`, which is written wherever the
    weight is: by the optimizer's own kernel. All graphs read copies where they
    rounded weights, also weights moved (transposed, reshaped, sliced).

    `@round_weights` makes all copies of the weights. The runtime calls it before
    the next step when weights came from outside: at the start, from a
    checkpoint, by the API. So checkpoints hold no copies.

    Before:

    ```mlir
    gradus.program @p {
      gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<4x4xbf16>, %new: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
        %w = gradus.read @w : tensor<4x4xf32>
        %round = arith.truncf %w : tensor<4x4xf32> to tensor<4x4xbf16>
        %y = gradus.matmul %x, %round : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xf32>
        gradus.write @w, %new : tensor<4x4xf32>
        gradus.return %y : tensor<4x4xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.state @"bf16/copy/w" : tensor<4x4xbf16> {copy, role = #gradus.role<slot>, init = #gradus.init<zeros>}
      gradus.graph @train(%x: tensor<4x4xbf16>, %new: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
        %round = gradus.read @"bf16/copy/w" : tensor<4x4xbf16>
        %y = gradus.matmul %x, %round : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xf32>
        %next = arith.truncf %new : tensor<4x4xf32> to tensor<4x4xbf16>
        gradus.write @w, %new : tensor<4x4xf32>
        gradus.write @"bf16/copy/w", %next : tensor<4x4xbf16>
        gradus.return %y : tensor<4x4xf32>
      }
      gradus.graph @round_weights() -> () {
        %w = gradus.read @w : tensor<4x4xf32>
        %round = arith.truncf %w : tensor<4x4xf32> to tensor<4x4xbf16>
        gradus.write @"bf16/copy/w", %round : tensor<4x4xbf16>
        gradus.return
      }
    }
    ```
  }];
}

def Decompose : GradusPass<"decompose"> {
  let summary = "Writes composite ops as smaller ones, which then fuse";
  let description = [{
    Replaces every op of the interface `Decomposable` by the ops it stands for
    until none is left: losses, their gradients and metrics become reductions
    and elementwise ops that fuse with their neighbours. What code generation
    serves better as it is (`staysWhole`), attention of some size, stays.

    Before:

    ```mlir
    gradus.program @p {
      gradus.graph @evaluate(%y: tensor<4xf32>, %label: tensor<4xf32>) -> (loss: tensor<f32>) {
        %loss = gradus.mean_squared_error %y, %label : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
        gradus.return %loss : tensor<f32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.graph @evaluate(%y: tensor<4xf32>, %label: tensor<4xf32>) -> (loss: tensor<f32>) {
        %difference = arith.subf %y, %label : tensor<4xf32>
        %square = arith.mulf %difference, %difference : tensor<4xf32>
        %loss = gradus.reduce mean %square axes [0] : tensor<4xf32> -> tensor<f32>
        gradus.return %loss : tensor<f32>
      }
    }
    ```
  }];
}

#endif
