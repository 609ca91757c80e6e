// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// Ten steps of warm-up, then half a cosine down to one half over a hundred; the
// step counts from the start of each piece, and a piece ends where the next begins.
// CHECK-LABEL: gradus.program @warmup_then_cosine
// CHECK-DAG:     %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<f64>
// CHECK-DAG:     %[[TEN:.*]] = arith.constant dense<1.000000e+01> : tensor<f64>
// CHECK-DAG:     %[[HUNDRED:.*]] = arith.constant dense<1.000000e+02> : tensor<f64>
// CHECK-DAG:     %[[HALF:.*]] = arith.constant dense<5.000000e-01> : tensor<f64>
// CHECK:         %[[STEP:.*]] = arith.sitofp %step
// CHECK:         %[[SO_FAR:.*]] = arith.minimumf %[[STEP]], %[[TEN]]
// CHECK:         %[[NEXT:.*]] = arith.addf %[[SO_FAR]], %[[ONE]]
// CHECK:         %[[PART:.*]] = arith.divf %[[NEXT]], %[[TEN]]
// CHECK:         %[[WARM:.*]] = arith.minimumf %[[PART]], %[[ONE]]
// CHECK:         %[[SINCE:.*]] = arith.subf %[[STEP]], %[[TEN]]
// CHECK:         %[[HELD:.*]] = arith.minimumf %[[SINCE]], %[[HUNDRED]]
// CHECK:         %[[PROGRESS:.*]] = arith.divf %[[HELD]], %[[HUNDRED]]
// CHECK:         math.cos
// CHECK:         %[[COSINE:.*]] = arith.addf %{{.*}}, %[[HALF]]
// CHECK:         %[[EARLY:.*]] = arith.cmpf olt, %[[STEP]], %[[TEN]]
// CHECK:         arith.select %[[EARLY]], %[[WARM]], %[[COSINE]]
gradus.program @warmup_then_cosine attributes {recipe = {settable = false, 
    optimizer = {type = "sgd", learning_rate = 1.0},
    schedule = {learning_rate = [{type = "linear_warmup", steps = 10 : i64},
                                 {type = "cosine", steps = 100 : i64, final = 0.5}]}}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> () {
    gradus.update @w, %g : tensor<f32>
    gradus.return
  }
}

// A straight line from one to a quarter, then the full rate.
// CHECK-LABEL: gradus.program @linear_then_constant
// CHECK-DAG:     %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<f64>
// CHECK-DAG:     %[[FALL:.*]] = arith.constant dense<-7.500000e-01> : tensor<f64>
// CHECK:         %[[DOWN:.*]] = arith.mulf %{{.*}}, %[[FALL]]
// CHECK:         %[[LINE:.*]] = arith.addf %[[DOWN]], %[[ONE]]
// CHECK:         arith.select %{{.*}}, %[[LINE]], %[[ONE]]
gradus.program @linear_then_constant attributes {recipe = {settable = false, 
    optimizer = {type = "sgd", learning_rate = 1.0},
    schedule = {learning_rate = [{type = "linear", steps = 10 : i64, final = 0.25},
                                 {type = "constant", steps = 100 : i64}]}}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> () {
    gradus.update @w, %g : tensor<f32>
    gradus.return
  }
}
