// RUN: gradus-opt %s --decompose --cse | FileCheck %s

gradus.program @p {
  // A causal mask alone leaves each query a key: no row needs a guard.
  // CHECK-LABEL: @causal
  // CHECK: gradus.matmul %{{.*}}, %k transposed
  // CHECK: arith.cmpi sle
  // CHECK-NOT: arith.cmpf
  // CHECK: gradus.return
  gradus.graph @causal(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>, %v: tensor<1x2x3x4xf32>) -> (y: tensor<1x2x3x4xf32>) {
    %y, %l:2 = gradus.attention %q, %k, %v causal {scale = 0.5 : f64}
        : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    gradus.return %y : tensor<1x2x3x4xf32>
  }

  // Rows of -inf get the sum 1 in place of 0.
  // CHECK-LABEL: @masked
  // CHECK: gradus.reduce max
  // CHECK: arith.cmpf oeq
  // CHECK: gradus.reduce sum
  // CHECK: arith.select
  gradus.graph @masked(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>, %v: tensor<1x2x3x4xf32>, %m: tensor<1x1x1x3xi1>) -> (y: tensor<1x2x3x4xf32>) {
    %y, %l:2 = gradus.attention %q, %k, %v mask %m {scale = 0.5 : f64}
        : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x1x1x3xi1>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    gradus.return %y : tensor<1x2x3x4xf32>
  }

  // Narrow numbers are summed up as f32.
  // CHECK-LABEL: @narrow
  // CHECK: arith.extf %q
  // CHECK: arith.truncf
  gradus.graph @narrow(%q: tensor<1x2x3x4xbf16>, %k: tensor<1x2x3x4xbf16>, %v: tensor<1x2x3x4xbf16>) -> (y: tensor<1x2x3x4xbf16>) {
    %y, %l:2 = gradus.attention %q, %k, %v {scale = 0.5 : f64}
        : (tensor<1x2x3x4xbf16>, tensor<1x2x3x4xbf16>, tensor<1x2x3x4xbf16>) -> (tensor<1x2x3x4xbf16>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    gradus.return %y : tensor<1x2x3x4xbf16>
  }

  // Keys by queries here, so that the scores are not those of the forward.
  // CHECK-LABEL: @backward
  // CHECK: gradus.matmul %k, %{{.*}} transposed : {{.*}} -> tensor<1x2x5x3xf32>
  gradus.graph @backward(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x5x4xf32>, %v: tensor<1x2x5x4xf32>, %l: tensor<1x2x3xf32>, %g: tensor<1x2x3x4xf32>)
      -> (dq: tensor<1x2x3x4xf32>) {
    %dq, %dk, %dv = gradus.attention_backward %q, %k, %v, %l, %l, %g, %l {scale = 0.5 : f64}
        : (tensor<1x2x3x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3xf32>)
        -> (tensor<1x2x3x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>)
    gradus.return %dq : tensor<1x2x3x4xf32>
  }
}
