// Passes on the model, before it is trained.

include "passes/pass_base.td"

def CheckCombinations : GradusPass<"check-combinations"> {
  let summary = "Refuses methods of the recipe that exclude each other";
  let description = [{
    The table of pairs is in `pipeline.cpp`, with the reason for each. The
    program does not change.
  }];
}

def FoldEmpty : GradusPass<"fold-empty"> {
  let summary = "Replaces what is computed of tensors without elements by constants";
  let description = [{
    A tensor with a dimension of size 0 has no elements: whatever makes one is
    replaced by a constant, and what is computed of nothing but such tensors
    and constants by what the reference evaluator says. A sum over no elements
    is 0, their maximum is negative infinity (in integers the smallest one),
    and their mean is NaN. So no later pass sees a dimension of size 0, but in
    inputs, outputs, states, operands of ops that move elements, and results of
    ops that have others. An op that would need more than that, such as the
    gather of elements that are not there, is an error. Parameters that reach
    the loss through such a tensor alone have no gradient: training leaves them
    as they are, without a decay of weights, and says so.

    A state without elements stays, and keeps its name in checkpoints.

    Before:

    ```mlir
    gradus.program @p {
      gradus.state @none : tensor<0x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
        %none = gradus.read @none : tensor<0x4xf32>
        %positive = gradus.relu %none : tensor<0x4xf32>
        %total = gradus.reduce sum %positive axes [0] : tensor<0x4xf32> -> tensor<4xf32>
        %y = arith.subf %x, %total : tensor<4xf32>
        gradus.return %y : tensor<4xf32>
      }
    }
    ```

    After:

    ```mlir
    gradus.program @p {
      gradus.state @none : tensor<0x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
      gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
        %total = arith.constant dense<0.0> : tensor<4xf32>
        %y = arith.subf %x, %total : tensor<4xf32>
        gradus.return %y : tensor<4xf32>
      }
    }
    ```
  }];
}

def LessBn : GradusPass<"less-bn"> {
  let summary = "Removes redundant batch normalizations from blocks that have several";
  let description = [{
    With `less_bn` in the recipe, rewrites `@predict`, from which the other
    graphs are derived. In each block of the model one batch normalization is
    enough:

    * residual: in a branch of convolutions, the last one before the sum stays;
      that of a projection on the other branch is removed.
    * depthwise: of expansion, depthwise convolution and projection, that of the
      expansion is removed if its input has no activation. So is that of the
      last convolution before the head.
    * dense: that of concatenated values is removed; in a layer after pooling
      the second one; and that of a transition.

    Operands of sums may be in any order. A batch normalization of the model's
    input, one whose result has other uses, and those that `keep` names stay.
    Nothing compensates for the removed ones, so the method is for models that
    are trained from the start. States without readers are removed, too. A
    remark gives the reason for each batch normalization.

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
  let summary = "Normalizes inputs and weights of the model's last dense layer";
  let description = [{
    With `fc_to_fn` in the recipe, the last dense layer of `@predict` becomes
    `multiplier * norm(x) norm(W)^T` with `norm(z) = z / sqrt(max(sum z^2,
    epsilon))`, row by row, and a new parameter `<layer>.multiplier`, which
    starts at 1. The layer's bias is removed, unless `fc_to_fn.bias` keeps it,
    inside the brackets.

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
