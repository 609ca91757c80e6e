// RUN: gradus-opt %s --clip-gradients --canonicalize --cse | FileCheck %s
// RUN: gradus-opt %s --weight-decay --clip-gradients=key=clip_update --canonicalize --cse | FileCheck %s --check-prefix=UPDATE

// Together at most so long: one sum of squares, one factor. Each gradient's
// squares are taken where it is made.
// CHECK-LABEL: gradus.program @global
// CHECK:         %[[B:.*]] = gradus.reduce sum %{{.*}} axes [0]
// CHECK:         %[[W:.*]] = gradus.reduce sum %{{.*}} axes [0]
// CHECK-NOT:     gradus.reduce
// CHECK:         %[[SQUARES:.*]] = arith.addf %[[W]], %[[B]]
// CHECK:         %[[NORM:.*]] = math.sqrt %[[SQUARES]]
// CHECK:         %[[RATIO:.*]] = arith.divf %{{.*}}, %{{.*}} : tensor<f32>
// CHECK:         %[[FACTOR:.*]] = arith.minimumf %[[RATIO]], %{{.*}}
// CHECK-COUNT-2: gradus.broadcast %[[FACTOR]]
gradus.program @global attributes {recipe = {clip = {type = "global_norm", value = 1.0}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>, %h: tensor<2xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.update @b, %h : tensor<2xf32>
    gradus.return
  }
}

// Each alone.
// CHECK-LABEL: gradus.program @norm
// CHECK:         gradus.reduce sum
// CHECK:         arith.minimumf %{{.*}} : tensor<f32>
gradus.program @norm attributes {recipe = {clip = {type = "norm", value = 1.0}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// CHECK-LABEL: gradus.program @value
// CHECK:         %[[LOW:.*]] = arith.maximumf %g, %{{.*}}
// CHECK:         %[[BOTH:.*]] = arith.minimumf %[[LOW]], %{{.*}}
// CHECK:         gradus.update @w, %[[BOTH]]
gradus.program @value attributes {recipe = {clip = {type = "value", value = 0.5}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// A bound for each output, by the norm of its weights.
// CHECK-LABEL: gradus.program @adaptive
// CHECK:         %[[W:.*]] = gradus.read @w
// CHECK-COUNT-2: gradus.reduce sum %{{.*}} axes [1] : tensor<8x4xf32> -> tensor<8xf32>
// CHECK:         gradus.broadcast %{{.*}} dims [0] : tensor<8xf32> -> tensor<8x4xf32>
gradus.program @adaptive attributes {recipe = {clip = {type = "adaptive", value = 0.01}}} {
  gradus.state @w : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<8x4xf32>) -> () {
    gradus.update @w, %g : tensor<8x4xf32>
    gradus.return
  }
}

// Without `clip` nothing changes.
// CHECK-LABEL: gradus.program @none
// CHECK:         gradus.update @w, %g
gradus.program @none attributes {recipe = {}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Parameters of several widths have one norm, in the widest.
// CHECK-LABEL: gradus.program @mixed
// CHECK:         arith.extf %{{.*}} : tensor<f32> to tensor<f64>
// CHECK:         arith.addf %{{.*}}, %{{.*}} : tensor<f64>
gradus.program @mixed attributes {recipe = {clip = {type = "global_norm", value = 1.0}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<4xf64> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>, %h: tensor<4xf64>) {
    gradus.update @w, %g : tensor<4xf32>
    gradus.update @v, %h : tensor<4xf64>
    gradus.return
  }
}

// timm divides by what the norm is too long by.
// CHECK-LABEL: gradus.program @timm
// CHECK:         %[[RATIO:.*]] = arith.divf %{{.*}}, %{{.*}} : tensor<f32>
// CHECK:         %[[DIVISOR:.*]] = arith.maximumf %[[RATIO]], %{{.*}}
// CHECK:         %[[ALL:.*]] = gradus.broadcast %[[DIVISOR]]
// CHECK:         arith.divf %g, %[[ALL]] : tensor<4xf32>
gradus.program @timm attributes {recipe = {compat = "timm", clip = {type = "global_norm", value = 2.0}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// The same by a key of its own.
// CHECK-LABEL: gradus.program @divided
// CHECK:         %[[RATIO:.*]] = arith.divf %{{.*}}, %{{.*}} : tensor<f32>
// CHECK:         %[[DIVISOR:.*]] = arith.maximumf %[[RATIO]], %{{.*}}
// CHECK:         %[[ALL:.*]] = gradus.broadcast %[[DIVISOR]]
// CHECK:         arith.divf %g, %[[ALL]] : tensor<4xf32>
gradus.program @divided attributes {recipe = {clip = {type = "global_norm", value = 2.0, divide = true}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// The number that is added to the norm is a key.
// CHECK-LABEL: gradus.program @norm_epsilon
// CHECK:         %[[EPSILON:.*]] = arith.constant dense<2.500000e-01> : tensor<f32>
// CHECK:         arith.addf %{{.*}}, %[[EPSILON]]
gradus.program @norm_epsilon attributes {recipe = {clip = {type = "norm", value = 2.0, norm_epsilon = 0.25}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// What the optimizer gets is bounded with its decay. Another key does nothing
// here, and this one nothing where gradients of the loss are clipped.
// CHECK-LABEL: gradus.program @update
// CHECK-NOT:     arith.maximumf
// UPDATE-LABEL: gradus.program @value
// UPDATE-NOT:    arith.maximumf
// UPDATE-LABEL: gradus.program @update
// UPDATE:        gradus.state @clip_update.value
// UPDATE:        %[[DECAYED:.*]] = arith.addf %g, %{{.*}}
// UPDATE:        %[[LOW:.*]] = arith.maximumf %[[DECAYED]], %{{.*}}
// UPDATE:        %[[BOTH:.*]] = arith.minimumf %[[LOW]], %{{.*}}
// UPDATE:        gradus.update @w, %[[BOTH]]
gradus.program @update attributes {recipe = {clip_update = {type = "value", value = 0.5}, optimizer = {type = "sgd", weight_decay = 0.5}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}
