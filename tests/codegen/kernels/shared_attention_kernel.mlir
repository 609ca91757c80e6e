// RUN: gradus compile %s --stop-after kernels | FileCheck %s

// Layers that drop by streams of their own run the same code: one kernel for
// prediction, which drops nothing, one for training and one backward.
// CHECK-COUNT-3: plan.kernel @{{.*}}attention
// CHECK-NOT:     plan.kernel @{{.*}}attention
gradus.program @layers attributes {recipe = {loss = {type = "mse", output = "y"}, optimizer = {type = "sgd"}}} {
  gradus.state @q : tensor<1x4x256x16xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%k: tensor<1x4x256x16xf32>) -> (y: tensor<1x4x256x16xf32>) {
    %q = gradus.read @q : tensor<1x4x256x16xf32>
    %a, %l:2 = gradus.attention %q, %k, %k {scale = 0.5 : f64, dropout = 0.1 : f64}
        : (tensor<1x4x256x16xf32>, tensor<1x4x256x16xf32>, tensor<1x4x256x16xf32>) -> (tensor<1x4x256x16xf32>, tensor<1x4x256xf32>, tensor<1x4x256xf32>)
    %y, %m:2 = gradus.attention %a, %k, %k {scale = 0.5 : f64, dropout = 0.1 : f64}
        : (tensor<1x4x256x16xf32>, tensor<1x4x256x16xf32>, tensor<1x4x256x16xf32>) -> (tensor<1x4x256x16xf32>, tensor<1x4x256xf32>, tensor<1x4x256xf32>)
    gradus.return %y : tensor<1x4x256x16xf32>
  }
}
