// RUN: gradus-opt %s --store-rounded-weights | FileCheck %s
// RUN: gradus-opt %s --store-rounded-weights --store-rounded-weights | FileCheck %s

// The weight that is trained, the frozen one and the one that is read transposed
// get copies, in every graph; what is rounded of an input or of a buffer stays.
// CHECK-LABEL: gradus.program @p
// CHECK-DAG:     gradus.state @"bf16/copy/w" : tensor<4x4xbf16> {copy, init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-DAG:     gradus.state @"bf16/copy/v" : tensor<4x4xbf16>
// CHECK-DAG:     gradus.state @"bf16/copy/frozen" : tensor<4xbf16>
// CHECK-NOT:     gradus.state @"bf16/copy/mean"
// CHECK:         gradus.graph @predict
// CHECK:           %[[W:.*]] = gradus.read @"bf16/copy/w" : tensor<4x4xbf16>
// CHECK:           gradus.return %[[W]]
// CHECK:         gradus.graph @train
// CHECK:           %[[MEAN:.*]] = arith.truncf %{{.*}} : tensor<4xf32> to tensor<4xbf16>
// CHECK:           %[[FROZEN:.*]] = gradus.read @"bf16/copy/frozen"
// CHECK:           %[[V:.*]] = gradus.read @"bf16/copy/v" : tensor<4x4xbf16>
// CHECK:           %[[TURNED:.*]] = gradus.transpose %[[V]] perm [1, 0] : tensor<4x4xbf16> -> tensor<4x4xbf16>
// CHECK:           gradus.write @w, %new
// CHECK:           %[[NEXT:.*]] = arith.truncf %new : tensor<4x4xf32> to tensor<4x4xbf16>
// CHECK:           gradus.write @"bf16/copy/w", %[[NEXT]]
// CHECK:           gradus.return %[[MEAN]], %[[FROZEN]], %[[TURNED]]
// CHECK:         gradus.graph @round_weights() {
// CHECK-COUNT-3:   gradus.write @"bf16/copy/
// CHECK-NEXT:      gradus.return
gradus.program @p {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @frozen : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @predict() -> (y: tensor<4x4xbf16>) {
    %w = gradus.read @w : tensor<4x4xf32>
    %y = arith.truncf %w : tensor<4x4xf32> to tensor<4x4xbf16>
    gradus.return %y : tensor<4x4xbf16>
  }
  gradus.graph @train(%new: tensor<4x4xf32>) -> (m: tensor<4xbf16>, f: tensor<4xbf16>, t: tensor<4x4xbf16>) {
    %w = gradus.read @w : tensor<4x4xf32>
    %0 = arith.truncf %w : tensor<4x4xf32> to tensor<4x4xbf16>
    %mean = gradus.read @mean : tensor<4xf32>
    %1 = arith.truncf %mean : tensor<4xf32> to tensor<4xbf16>
    %frozen = gradus.read @frozen : tensor<4xf32>
    %2 = arith.truncf %frozen : tensor<4xf32> to tensor<4xbf16>
    %v = gradus.read @v : tensor<4x4xf32>
    %turned = gradus.transpose %v perm [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
    %3 = arith.truncf %turned : tensor<4x4xf32> to tensor<4x4xbf16>
    gradus.write @w, %new : tensor<4x4xf32>
    gradus.return %1, %2, %3 : tensor<4xbf16>, tensor<4xbf16>, tensor<4x4xbf16>
  }
}

// A program that only predicts keeps its weights once.
// CHECK-LABEL: gradus.program @model
// CHECK-NOT:     copy
gradus.program @model {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict() -> (y: tensor<4xbf16>) {
    %w = gradus.read @w : tensor<4xf32>
    %y = arith.truncf %w : tensor<4xf32> to tensor<4xbf16>
    gradus.return %y : tensor<4xbf16>
  }
}

// The copy of a weight that each rank has of its own is the rank's own, too.
// CHECK-LABEL: gradus.program @ranks
// CHECK:         gradus.state @"bf16/copy/own" : tensor<4xbf16> {copy, differs_along = ["data"], init
// CHECK:         gradus.state @"bf16/copy/shared" : tensor<4xbf16> {copy, init
gradus.program @ranks {
  gradus.state @own : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>, differs_along = ["data"]}
  gradus.state @shared : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train() -> (y: tensor<4xbf16>, z: tensor<4xbf16>) {
    %own = gradus.read @own : tensor<4xf32>
    %shared = gradus.read @shared : tensor<4xf32>
    %y = arith.truncf %own : tensor<4xf32> to tensor<4xbf16>
    %z = arith.truncf %shared : tensor<4xf32> to tensor<4xbf16>
    gradus.return %y, %z : tensor<4xbf16>, tensor<4xbf16>
  }
}
