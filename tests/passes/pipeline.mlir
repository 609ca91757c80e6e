// RUN: gradus-opt %s --training | FileCheck %s
// RUN: gradus-opt %s --training=stop-after=gradients | FileCheck %s --check-prefix=GRADIENTS
// RUN: gradus-opt %s --training=stop-after=model | FileCheck %s --check-prefix=MODEL

// After the last stage, a step is small ops and writes.
// CHECK:         gradus.graph @train
// CHECK-NOT:     gradus.update
// CHECK-NOT:     gradus.mean_squared_error
// CHECK:         gradus.write @slope
// CHECK:         gradus.write @step
// CHECK:         gradus.graph @evaluate

// GRADIENTS:     gradus.graph @train
// GRADIENTS:     gradus.mean_squared_error
// GRADIENTS:     gradus.update @slope
// GRADIENTS-NOT: gradus.write

// MODEL-NOT:     @train

gradus.program @line attributes {recipe = {
    loss = {type = "mse"}, optimizer = {type = "sgd", learning_rate = 0.1}}} {
  gradus.state @slope : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %slope = gradus.read @slope : tensor<4xf32>
    %y = arith.mulf %x, %slope : tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}
