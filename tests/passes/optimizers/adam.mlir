// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// Both moments are remembered. Bias corrections are powers of the step, taken
// in f64 and rounded once.
// CHECK-LABEL: gradus.program @adam
// CHECK-DAG:     gradus.state @"adam/first_moment/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-DAG:     gradus.state @"adam/second_moment/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK:         gradus.write @"adam/first_moment/w"
// CHECK:         gradus.write @"adam/second_moment/w"
// CHECK:         math.powf %{{.*}} : tensor<f64>
// CHECK:         math.powf %{{.*}} : tensor<f64>
// CHECK:         math.sqrt %{{.*}} : tensor<f64>
// CHECK:         math.sqrt %{{.*}} : tensor<4xf32>
// CHECK:         arith.truncf %{{.*}} : tensor<f64> to tensor<f32>
// CHECK:         arith.divf %{{.*}} : tensor<4xf32>
// CHECK:         gradus.write @w
gradus.program @adam attributes {recipe = {settable = false, optimizer = {type = "adam", learning_rate = 0.001, betas = [0.9, 0.999]}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// Two parameters share the step's scalars.
// CHECK-LABEL: gradus.program @two
// CHECK-COUNT-2: math.powf
// CHECK-NOT:     math.powf
gradus.program @two attributes {recipe = {settable = false, optimizer = {type = "adam", learning_rate = 0.001}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>, %h: tensor<2xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.update @b, %h : tensor<2xf32>
    gradus.return
  }
}

// With amsgrad the largest second moment so far divides.
// CHECK-LABEL: gradus.program @amsgrad
// CHECK:         %[[OLD:.*]] = gradus.read @"adam/largest_moment/w"
// CHECK:         %[[LARGEST:.*]] = arith.maximumf %[[OLD]], %{{.*}}
// CHECK:         gradus.write @"adam/largest_moment/w", %[[LARGEST]]
// CHECK:         math.sqrt %[[LARGEST]]
gradus.program @amsgrad attributes {recipe = {settable = false, optimizer = {type = "adam", amsgrad = true}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// MindSpore corrects the step's size alone: epsilon meets the root as it is.
// CHECK-LABEL: gradus.program @mindspore
// CHECK:         gradus.write @"adam/second_moment/w", %[[SECOND:.*]] :
// CHECK:         %[[ROOT:.*]] = math.sqrt %[[SECOND]] : tensor<4xf32>
// CHECK-NEXT:    arith.addf %[[ROOT]], %{{.*}} : tensor<4xf32>
gradus.program @mindspore attributes {recipe = {settable = false, compat = "mindspore", optimizer = {type = "adam"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}
