// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// Five iterations of three products each.
// CHECK-LABEL: gradus.program @matrix
// CHECK-DAG:     gradus.state @"muon/momentum/w" : tensor<4x8xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK:         arith.truncf %{{.*}} : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK-COUNT-15: gradus.matmul
// CHECK-NOT:     gradus.matmul
gradus.program @matrix attributes {recipe = {settable = false, optimizer = {type = "muon", others = {type = "adamw"}}}} {
  gradus.state @w : tensor<4x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x8xf32>) -> () {
    gradus.update @w, %g : tensor<4x8xf32>
    gradus.return
  }
}

// A vector is for the others.
// CHECK-LABEL: gradus.program @vector
// CHECK:         gradus.state @"adamw/first_moment/w"
// CHECK-NOT:     gradus.matmul
gradus.program @vector attributes {recipe = {settable = false, optimizer = {type = "muon", others = {type = "adamw"}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Others than PyTorch keep the precision.
// CHECK-LABEL: gradus.program @timm
// CHECK-NOT:     bf16
gradus.program @timm attributes {recipe = {settable = false, compat = "timm", optimizer = {type = "muon", others = {type = "adamw"}}}} {
  gradus.state @w : tensor<4x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x8xf32>) -> () {
    gradus.update @w, %g : tensor<4x8xf32>
    gradus.return
  }
}
