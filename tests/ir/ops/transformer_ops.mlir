// RUN: gradus-opt %s --decompose --cse | FileCheck %s

gradus.program @p {
  // CHECK-LABEL: @softmax
  // CHECK: %[[MAX:.*]] = gradus.reduce max %x axes [1]
  // CHECK: math.exp
  // CHECK: gradus.reduce sum
  gradus.graph @softmax(%x: tensor<2x6xf32>) -> (y: tensor<2x6xf32>) {
    %0 = gradus.softmax %x axis 1 : tensor<2x6xf32>
    gradus.return %0 : tensor<2x6xf32>
  }

  // Narrow numbers are summed up as f32.
  // CHECK-LABEL: @layer_norm
  // CHECK: arith.extf %x : tensor<2x6xbf16> to tensor<2x6xf32>
  // CHECK: gradus.reduce mean
  // CHECK: math.rsqrt
  // CHECK: arith.truncf
  gradus.graph @layer_norm(%x: tensor<2x6xbf16>, %s: tensor<6xbf16>) -> (y: tensor<2x6xbf16>) {
    %0 = gradus.layer_norm %x, %s {epsilon = 1.0e-5 : f64} : tensor<2x6xbf16>, tensor<6xbf16>
    gradus.return %0 : tensor<2x6xbf16>
  }

  // Only one mean: that of the squares.
  // CHECK-LABEL: @rms_norm
  // CHECK: gradus.reduce mean
  // CHECK-NOT: gradus.reduce
  // CHECK: gradus.return
  gradus.graph @rms_norm(%x: tensor<2x6xf32>, %s: tensor<6xf32>) -> (y: tensor<2x6xf32>) {
    %0 = gradus.layer_norm rms %x, %s {epsilon = 1.0e-5 : f64} : tensor<2x6xf32>, tensor<6xf32>
    gradus.return %0 : tensor<2x6xf32>
  }
}
