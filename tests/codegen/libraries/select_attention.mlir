// RUN: gradus-opt %s --split-input-file --select="provider=cuda library=always" | FileCheck %s
// RUN: gradus-opt %s --split-input-file --select=library=always | FileCheck %s --check-prefix=ONEDNN

// ONEDNN-NOT: plan.library "attention

// Heads stay where the projections have them, in 16 bits; what the exporter does
// to bring them where attention wants them is gone, and so is delta.
// CHECK-LABEL: gradus.program @train
// CHECK: %[[Y:.*]]:2 = plan.library "attention"(%q, %k, %v) config {causal, scale = 2.500000e-01 : f64}
// CHECK-SAME: {dims = array<i64: 2, 4, 8, 16>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 2, 4, 8, 16>, strides = array<i64: 512, 16, 64, 1>}
// CHECK-SAME: {dims = array<i64: 2, 4, 8, 1>
// CHECK-SAME: (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x4x8xf32>)
// CHECK: %[[G:.*]] = arith.truncf %g : tensor<2x8x64xf32> to tensor<2x8x64xbf16>
// CHECK: %[[H:.*]] = gradus.reshape %[[G]] : tensor<2x8x64xbf16> -> tensor<2x8x4x16xbf16>
// CHECK: %[[D:.*]]:3 = plan.library "attention_backward"(%q, %k, %v, %[[Y]]#0, %[[H]], %[[Y]]#1) config {causal, scale = 2.500000e-01 : f64}
// CHECK-NOT: gradus.transpose
// CHECK-NOT: gradus.reduce
// CHECK: %[[R:.*]] = gradus.reshape %[[Y]]#0 : tensor<2x8x4x16xbf16> -> tensor<2x8x64xbf16>
// CHECK: gradus.return %[[R]], %[[D]]#0, %[[D]]#1, %[[D]]#2
gradus.program @train attributes {recipe = {precision = "bf16"}} {
  gradus.graph @train(%q: tensor<2x8x4x16xbf16>, %k: tensor<2x8x4x16xbf16>, %v: tensor<2x8x4x16xbf16>, %g: tensor<2x8x64xf32>)
      -> (y: tensor<2x8x64xbf16>, dq: tensor<2x8x4x16xbf16>, dk: tensor<2x8x4x16xbf16>, dv: tensor<2x8x4x16xbf16>) {
    %qt = gradus.transpose %q perm [0, 2, 1, 3] : tensor<2x8x4x16xbf16> -> tensor<2x4x8x16xbf16>
    %kt = gradus.transpose %k perm [0, 2, 1, 3] : tensor<2x8x4x16xbf16> -> tensor<2x4x8x16xbf16>
    %vt = gradus.transpose %v perm [0, 2, 1, 3] : tensor<2x8x4x16xbf16> -> tensor<2x4x8x16xbf16>
    %qw = arith.extf %qt : tensor<2x4x8x16xbf16> to tensor<2x4x8x16xf32>
    %kw = arith.extf %kt : tensor<2x4x8x16xbf16> to tensor<2x4x8x16xf32>
    %vw = arith.extf %vt : tensor<2x4x8x16xbf16> to tensor<2x4x8x16xf32>
    %y, %l:2 = gradus.attention %qw, %kw, %vw causal {scale = 0.25 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
    %gh = gradus.reshape %g : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
    %gt = gradus.transpose %gh perm [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
    %products = arith.mulf %gt, %y : tensor<2x4x8x16xf32>
    %delta = gradus.reduce sum %products axes [3] : tensor<2x4x8x16xf32> -> tensor<2x4x8xf32>
    %dq, %dk, %dv = gradus.attention_backward %qw, %kw, %vw, %l#0, %l#1, %gt, %delta causal {scale = 0.25 : f64}
        : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8xf32>)
        -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
    %yt = gradus.transpose %y perm [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
    %yr = gradus.reshape %yt : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
    %yn = arith.truncf %yr : tensor<2x8x64xf32> to tensor<2x8x64xbf16>
    %dqn = arith.truncf %dq : tensor<2x4x8x16xf32> to tensor<2x4x8x16xbf16>
    %dkn = arith.truncf %dk : tensor<2x4x8x16xf32> to tensor<2x4x8x16xbf16>
    %dvn = arith.truncf %dv : tensor<2x4x8x16xf32> to tensor<2x4x8x16xbf16>
    %dqt = gradus.transpose %dqn perm [0, 2, 1, 3] : tensor<2x4x8x16xbf16> -> tensor<2x8x4x16xbf16>
    %dkt = gradus.transpose %dkn perm [0, 2, 1, 3] : tensor<2x4x8x16xbf16> -> tensor<2x8x4x16xbf16>
    %dvt = gradus.transpose %dvn perm [0, 2, 1, 3] : tensor<2x4x8x16xbf16> -> tensor<2x8x4x16xbf16>
    gradus.return %yn, %dqt, %dkt, %dvt : tensor<2x8x64xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>
  }
}

// -----

// In f32 our own kernels do it, and so they do where heads are not of multiples
// of 8, or where a mask is learned.
// CHECK-LABEL: gradus.program @single_precision
// CHECK-NOT: plan.library
gradus.program @single_precision {
  gradus.graph @predict(%q: tensor<2x4x8x16xf32>) -> (y: tensor<2x4x8x16xf32>) {
    %y, %l:2 = gradus.attention %q, %q, %q {scale = 0.25 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
    gradus.return %y : tensor<2x4x8x16xf32>
  }
}

// -----

// CHECK-LABEL: gradus.program @not_plain
// CHECK-NOT: plan.library
gradus.program @not_plain attributes {recipe = {precision = "f16"}} {
  gradus.graph @learned(%q: tensor<2x4x8x16xf32>, %m: tensor<2x1x1x8xf32>) -> (y: tensor<2x4x8x16xf32>, l: tensor<2x4x8xf32>) {
    %y, %l:2 = gradus.attention %q, %q, %q mask %m {scale = 0.25 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x1x1x8xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
    gradus.return %y, %l#0 : tensor<2x4x8x16xf32>, tensor<2x4x8xf32>
  }
  gradus.graph @odd_heads(%q: tensor<2x4x8x12xf32>) -> (y: tensor<2x4x8x12xf32>) {
    %y, %l:2 = gradus.attention %q, %q, %q {scale = 0.25 : f64} : (tensor<2x4x8x12xf32>, tensor<2x4x8x12xf32>, tensor<2x4x8x12xf32>) -> (tensor<2x4x8x12xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
    gradus.return %y : tensor<2x4x8x12xf32>
  }
}

// -----

// A mask goes along as it lies, once for all that share it, and no lower than
// e to it is 0: a query that sees no key has a softmax.
// CHECK-LABEL: gradus.program @masked
// CHECK: %[[LEAST:.*]] = arith.constant dense<-1.000000e+04> : tensor<2x1x1x8xf32>
// CHECK: %[[MASK:.*]] = arith.maximumf %m, %[[LEAST]]
// CHECK: %[[Y:.*]]:2 = plan.library "attention"(%q, %q, %q, %[[MASK]]) config {scale = 2.500000e-01 : f64}
// CHECK-SAME: {dims = array<i64: 2, 1, 1, 8>{{[^}]*}}strides = array<i64: 8, 8, 8, 1>}
// CHECK: plan.library "attention_backward"(%q, %q, %q, %[[Y]]#0, %{{.*}}, %[[Y]]#1, %[[MASK]])
gradus.program @masked attributes {recipe = {precision = "bf16"}} {
  gradus.graph @train(%q: tensor<2x8x4x16xbf16>, %m: tensor<2x1x1x8xf32>, %g: tensor<2x4x8x16xf32>, %delta: tensor<2x4x8xf32>) -> (y: tensor<2x4x8x16xf32>, dq: tensor<2x4x8x16xf32>) {
    %qt = gradus.transpose %q perm [0, 2, 1, 3] : tensor<2x8x4x16xbf16> -> tensor<2x4x8x16xbf16>
    %w = arith.extf %qt : tensor<2x4x8x16xbf16> to tensor<2x4x8x16xf32>
    %y, %l:2 = gradus.attention %w, %w, %w mask %m {scale = 0.25 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x1x1x8xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
    %dq, %dk, %dv = gradus.attention_backward %w, %w, %w, %l#0, %l#1, %g, %delta mask %m {scale = 0.25 : f64}
        : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x1x1x8xf32>)
        -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
    gradus.return %y, %dq : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
  }
}

// -----

// Truth values become numbers of 16 bits.
// CHECK-LABEL: gradus.program @truth_values
// CHECK-DAG: %[[HIDDEN:.*]] = arith.constant dense<-9.984000e+03> : tensor<1x1x8x8xbf16>
// CHECK-DAG: %[[SEEN:.*]] = arith.constant dense<0.000000e+00> : tensor<1x1x8x8xbf16>
// CHECK: %[[MASK:.*]] = arith.select %m, %[[SEEN]], %[[HIDDEN]]
// CHECK: plan.library "attention"({{.*}}, %[[MASK]])
gradus.program @truth_values attributes {recipe = {precision = "bf16"}} {
  gradus.graph @predict(%q: tensor<2x4x8x16xbf16>, %m: tensor<1x1x8x8xi1>) -> (y: tensor<2x4x8x16xf32>) {
    %w = arith.extf %q : tensor<2x4x8x16xbf16> to tensor<2x4x8x16xf32>
    %y, %l:2 = gradus.attention %w, %w, %w mask %m {scale = 0.25 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<1x1x8x8xi1>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
    gradus.return %y : tensor<2x4x8x16xf32>
  }
}
