// RUN: gradus-opt %s --fc-to-fn | FileCheck %s
// RUN: gradus-opt %s --fc-to-fn --fc-to-fn | FileCheck %s

// Rows of the input and of the weight become 1 long; the bias goes.
// CHECK-LABEL: gradus.program @head
// CHECK-NOT:     @fc.bias
// CHECK:         gradus.state @fc.multiplier : tensor<1xf32> {init = #gradus.init<constant, 1.000000e+00 : f64>, role = #gradus.role<parameter>}
// CHECK:         %[[W:.*]] = gradus.read @fc.weight
// CHECK:         %[[S:.*]] = gradus.reduce sum %{{.*}} axes [1] : tensor<2x4xf32> -> tensor<2xf32>
// CHECK:         %[[E:.*]] = arith.constant dense<9.99999974E-5> : tensor<2xf32>
// CHECK:         %[[L:.*]] = arith.maximumf %[[S]], %[[E]]
// CHECK:         math.sqrt %[[L]]
// CHECK:         %[[X:.*]] = arith.divf %x,
// CHECK:         gradus.reduce sum %{{.*}} axes [1] : tensor<8x4xf32> -> tensor<8xf32>
// CHECK:         %[[V:.*]] = arith.divf %[[W]],
// CHECK:         %[[P:.*]] = gradus.matmul %[[X]], %[[V]] transposed
// CHECK:         gradus.read @fc.multiplier
// CHECK:         %[[Y:.*]] = arith.mulf %{{.*}}, %[[P]] : tensor<2x8xf32>
// CHECK:         gradus.return %[[Y]]
gradus.program @head attributes {recipe = {fc_to_fn = {}}} {
  gradus.state @fc.weight : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @fc.bias : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
    %w = gradus.read @fc.weight : tensor<8x4xf32>
    %b = gradus.read @fc.bias : tensor<8xf32>
    %0 = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
    %1 = gradus.broadcast %b dims [1] : tensor<8xf32> -> tensor<2x8xf32>
    %y = arith.addf %0, %1 : tensor<2x8xf32>
    gradus.return %y : tensor<2x8xf32>
  }
}

// A weight [in, out], an output among several, an activation behind it, which
// stays, and so does the bias: the multiplier takes it, too.
// CHECK-LABEL: gradus.program @options
// CHECK:         gradus.state @fc.bias
// CHECK:         arith.constant dense<5.000000e-01> : tensor<2xf32>
// CHECK:         gradus.reduce sum %{{.*}} axes [0] : tensor<4x8xf32> -> tensor<8xf32>
// CHECK:         %[[P:.*]] = gradus.matmul
// CHECK:         %[[B:.*]] = arith.addf %{{.*}}, %[[P]]
// CHECK:         %[[Y:.*]] = arith.mulf %{{.*}}, %[[B]]
// CHECK:         %[[T:.*]] = math.tanh %[[Y]]
// CHECK:         gradus.return %x, %[[T]]
gradus.program @options attributes {recipe = {loss = {type = "mse", output = "y"}, fc_to_fn = {epsilon = 0.5, bias = true}}} {
  gradus.state @fc.weight : tensor<4x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @fc.bias : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (features: tensor<2x4xf32>, y: tensor<2x8xf32>) {
    %w = gradus.read @fc.weight : tensor<4x8xf32>
    %b = gradus.read @fc.bias : tensor<8xf32>
    %0 = gradus.matmul %x, %w : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
    %1 = gradus.broadcast %b dims [1] : tensor<8xf32> -> tensor<2x8xf32>
    %2 = arith.addf %1, %0 : tensor<2x8xf32>
    %y = math.tanh %2 : tensor<2x8xf32>
    gradus.return %x, %y : tensor<2x4xf32>, tensor<2x8xf32>
  }
}

// A layer without bias.
// CHECK-LABEL: gradus.program @no_bias
// CHECK:         gradus.state @fc.multiplier
// CHECK:         gradus.return
gradus.program @no_bias attributes {recipe = {fc_to_fn = {}}} {
  gradus.state @fc.weight : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
    %w = gradus.read @fc.weight : tensor<8x4xf32>
    %y = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
    gradus.return %y : tensor<2x8xf32>
  }
}

// Without the key nothing changes.
// CHECK-LABEL: gradus.program @none
// CHECK-NOT:     arith
gradus.program @none attributes {recipe = {}} {
  gradus.state @fc.weight : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>) {
    %w = gradus.read @fc.weight : tensor<8x4xf32>
    %y = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
    gradus.return %y : tensor<2x8xf32>
  }
}

// What else uses the product without the bias gets one that stays as it is.
// CHECK-LABEL: gradus.program @shared
// CHECK:         %[[O:.*]] = gradus.matmul %x, %{{.*}} transposed
// CHECK:         %[[P:.*]] = gradus.matmul
// CHECK:         %[[Y:.*]] = arith.mulf %{{.*}}, %[[P]]
// CHECK:         %[[R:.*]] = gradus.relu %[[O]]
// CHECK:         gradus.return %[[Y]], %[[R]]
gradus.program @shared attributes {recipe = {fc_to_fn = {}, loss = {type = "mse", output = "y"}}} {
  gradus.state @fc.weight : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @fc.bias : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x8xf32>, z: tensor<2x8xf32>) {
    %w = gradus.read @fc.weight : tensor<8x4xf32>
    %b = gradus.read @fc.bias : tensor<8xf32>
    %0 = gradus.matmul %x, %w transposed : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
    %1 = gradus.broadcast %b dims [1] : tensor<8xf32> -> tensor<2x8xf32>
    %y = arith.addf %1, %0 : tensor<2x8xf32>
    %r = gradus.relu %0 : tensor<2x8xf32>
    gradus.return %y, %r : tensor<2x8xf32>, tensor<2x8xf32>
  }
}
