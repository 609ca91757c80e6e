// RUN: gradus-opt %s --precondition | FileCheck %s
// RUN: gradus-opt %s --precondition --precondition | FileCheck %s
// RUN: gradus-opt %s --precondition=at=after_weight_decay | FileCheck %s --check-prefix=LAST

// Nothing here is preconditioned behind weight decay.
// LAST-NOT: gradus.preconditioned

// A step that has measured inverts, keeps what cannot be inverted, and writes;
// another reads. Outputs by inputs: G^-1 g A^-1.
// CHECK-LABEL: gradus.program @dense
// CHECK:         gradus.state @"precondition/inputs/w" : tensor<1x3x3xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK:         gradus.state @"precondition/outputs/w" : tensor<1x2x2xf32>
// CHECK:         gradus.graph @train(
// CHECK-NOT:       gradus.inverse
// CHECK-DAG:       %[[A:.*]] = gradus.read @"precondition/inputs/w"
// CHECK-DAG:       %[[G:.*]] = gradus.read @"precondition/outputs/w"
// CHECK:           %[[G2:.*]] = gradus.reshape %[[G]] : tensor<1x2x2xf32> -> tensor<2x2xf32>
// CHECK:           %[[LEFT:.*]] = gradus.matmul %[[G2]], %{{.*}} : tensor<2x2xf32>, tensor<2x3xf32>
// CHECK:           %[[A2:.*]] = gradus.reshape %[[A]] : tensor<1x3x3xf32> -> tensor<3x3xf32>
// CHECK:           gradus.matmul %{{.*}}, %[[A2]] : tensor<2x3xf32>, tensor<3x3xf32>
// CHECK:           gradus.update @w, %{{.*}} {gradus.preconditioned} : tensor<2x3xf32>
// CHECK-NOT:       gradus.write @"precondition/inputs/w"
// CHECK:         gradus.graph @train_refresh(
// CHECK:           %[[INVERSE:.*]] = gradus.inverse %{{.*}} : tensor<1x3x3xf32>
// CHECK:           %[[KEPT:.*]] = arith.select %{{.*}}, %[[INVERSE]], %{{.*}}
// CHECK:           gradus.write @"precondition/inputs/w", %[[KEPT]]
// CHECK:           gradus.write @"precondition/outputs/w"
// CHECK-NOT:       gradus.factors
// CHECK:           gradus.write @"precondition/kept"
gradus.program @dense attributes {recipe = {precondition = {type = "thor"}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%dw: tensor<2x3xf32>) -> () {
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.return
  }
  gradus.graph @train_refresh(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () attributes {gradus.trains = "updates"} {
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.return
  }
}

// A mean over time: what is measured moves it, and what is only measured leaves
// the inverses alone.
// CHECK-LABEL: gradus.program @often
// CHECK:         gradus.state @"precondition/mean_inputs/w"
// CHECK:         gradus.graph @train_measure(
// CHECK-NOT:       gradus.inverse
// CHECK:           gradus.write @"precondition/measured/w"
// CHECK:           gradus.write @"precondition/mean_inputs/w"
// CHECK:           gradus.write @"precondition/mean_outputs/w"
// CHECK-NOT:       gradus.write @"precondition/inputs/w"
gradus.program @often attributes {recipe = {precondition = {type = "kfac"}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train_measure(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () attributes {gradus.trains = "updates"} {
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense", measured_only} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.return
  }
}

// Blocks of inputs are a batch of matmuls, and padding is cut off. A weight that
// has inputs first is not transposed.
// CHECK-LABEL: gradus.program @blocks
// CHECK:         gradus.pad %{{.*}} : tensor<1x5x2xf32> -> tensor<1x6x2xf32>
// CHECK:         gradus.reshape %{{.*}} : tensor<1x6x2xf32> -> tensor<2x3x2xf32>
// CHECK-NOT:     gradus.transpose
// CHECK:         gradus.matmul %{{.*}} : tensor<2x3x3xf32>, tensor<2x3x2xf32> -> tensor<2x3x2xf32>
// CHECK:         gradus.slice %{{.*}} : tensor<1x6x2xf32> -> tensor<1x5x2xf32>
// CHECK:         gradus.update @w
gradus.program @blocks attributes {recipe = {precondition = {type = "thor"}}} {
  gradus.state @w : tensor<5x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%a: tensor<2x3x3xf32>, %dw: tensor<5x2xf32>) -> () {
    gradus.update @w, %dw : tensor<5x2xf32>
    gradus.factors @w inputs %a {axes = array<i64: 0>, kind = "dense"} : tensor<2x3x3xf32>
    gradus.return
  }
}

// An embedding's rows are divided by their share of the batch.
// CHECK-LABEL: gradus.program @embedding
// CHECK:         %[[SUM:.*]] = arith.addf %share, %{{.*}} : tensor<4xf32>
// CHECK:         %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[SUM]]
// CHECK:         gradus.write @"precondition/inputs/w", %[[INVERSE]]
// CHECK:         gradus.broadcast %[[INVERSE]] dims [1] : tensor<4xf32> -> tensor<1x4x2xf32>
gradus.program @embedding attributes {recipe = {precondition = {type = "thor"}}} {
  gradus.state @w : tensor<4x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%share: tensor<4xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<4x2xf32>) -> () {
    gradus.update @w, %dw : tensor<4x2xf32>
    gradus.factors @w inputs %share outputs %g {axes = array<i64: 0>, kind = "embedding"} : tensor<4xf32>, tensor<1x2x2xf32>
    gradus.return
  }
}

// A layer norm has a diagonal of its own; another vector keeps its gradient.
// CHECK-LABEL: gradus.program @norm
// CHECK:         %[[SQUARE:.*]] = arith.mulf %dw, %dw
// CHECK:         %[[CURVATURE:.*]] = arith.divf %[[SQUARE]]
// CHECK:         %[[DAMPED:.*]] = arith.addf %[[CURVATURE]]
// CHECK:         %[[DIRECTION:.*]] = arith.divf %dw, %[[DAMPED]]
// CHECK:         gradus.update @scale, %[[DIRECTION]] {gradus.preconditioned}
// CHECK:         gradus.update @other, %dw : tensor<4xf32>
gradus.program @norm attributes {recipe = {precondition = {type = "thor"}}} {
  gradus.state @scale : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @other : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x4xf32>, %dw: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale {epsilon = 1.0e-5 : f64} : tensor<8x4xf32>, tensor<4xf32>
    gradus.update @scale, %dw : tensor<4xf32>
    gradus.update @other, %dw : tensor<4xf32>
    gradus.return %y : tensor<8x4xf32>
  }
}

// The step's length in curvature is bounded: all directions have one factor.
// CHECK-LABEL: gradus.program @clipped
// CHECK:         %[[FIRST:.*]] = gradus.reduce sum %{{.*}} axes [0, 1] : tensor<5x2xf32> -> tensor<f32>
// CHECK:         %[[SECOND:.*]] = gradus.reduce sum %{{.*}} axes [0] : tensor<4xf32> -> tensor<f32>
// CHECK:         %[[TOTAL:.*]] = arith.addf %[[FIRST]], %[[SECOND]]
// CHECK:         %[[LENGTH:.*]] = arith.mulf %{{.*}}, %{{.*}} : tensor<f32>
// CHECK:         %[[FACTOR:.*]] = arith.minimumf
// CHECK-COUNT-2: gradus.broadcast %[[FACTOR]]
// CHECK:         gradus.update @w
// CHECK:         gradus.update @scale
// CHECK:         gradus.update @other, %dv : tensor<4xf32>
gradus.program @clipped attributes {recipe = {precondition = {type = "kfac", decay = 0.0, kl_clip = 0.001}, optimizer = {type = "sgd", learning_rate = 0.1}}} {
  gradus.state @w : tensor<5x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @scale : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @other : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%a: tensor<1x5x5xf32>, %dw: tensor<5x2xf32>, %x: tensor<8x4xf32>, %dv: tensor<4xf32>) -> (y: tensor<8x4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale {epsilon = 1.0e-5 : f64} : tensor<8x4xf32>, tensor<4xf32>
    gradus.update @w, %dw : tensor<5x2xf32>
    gradus.update @scale, %dv : tensor<4xf32>
    gradus.update @other, %dv : tensor<4xf32>
    gradus.factors @w inputs %a {axes = array<i64: 0>, kind = "dense"} : tensor<1x5x5xf32>
    gradus.return %y : tensor<8x4xf32>
  }
}

// A bias that joins its weight is its last column, or its last row, and comes
// along with it; where the weight rests it is multiplied with zeros.
// CHECK-LABEL: gradus.program @joined
// CHECK:         gradus.graph @train_refresh(
// CHECK:           gradus.reshape %db : tensor<2xf32> -> tensor<1x2x1xf32>
// CHECK:           gradus.concatenate %{{.*}} axis 2 : tensor<1x2x3xf32>, tensor<1x2x1xf32> -> tensor<1x2x4xf32>
// CHECK-DAG:       gradus.slice %{{.*}} starts [0, 0, 0] steps [1, 1, 1] : tensor<1x2x4xf32> -> tensor<1x2x3xf32>
// CHECK-DAG:       gradus.slice %{{.*}} starts [0, 0, 3] steps [1, 1, 1] : tensor<1x2x4xf32> -> tensor<1x2x1xf32>
// CHECK:           gradus.update @w, %{{.*}} {gradus.preconditioned} : tensor<2x3xf32>
// CHECK-NEXT:      gradus.update @b, %{{.*}} {gradus.preconditioned} : tensor<2xf32>
// CHECK:         gradus.graph @train_cut1(
// CHECK:           %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<1x2x3xf32>
// CHECK:           gradus.concatenate %[[ZEROS]], %{{.*}} axis 2
// CHECK:           gradus.update @b, %{{.*}} {gradus.preconditioned} : tensor<2xf32>
gradus.program @joined attributes {recipe = {precondition = {type = "thor", bias = "joined"}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train_refresh(%a: tensor<1x4x4xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>, %db: tensor<2xf32>) -> () attributes {gradus.trains = "updates"} {
    gradus.update @b, %db : tensor<2xf32>
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, gradus.joined = "b", kind = "dense"} : tensor<1x4x4xf32>, tensor<1x2x2xf32>
    gradus.return
  }
  gradus.graph @train_cut1(%db: tensor<2xf32>) -> () attributes {gradus.trains = "updates"} {
    gradus.update @b, %db : tensor<2xf32>
    gradus.return
  }
}
