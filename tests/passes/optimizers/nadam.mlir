// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// The product of all momenta so far is one number for each parameter.
// CHECK-LABEL: gradus.program @nadam
// CHECK-DAG:     gradus.state @"nadam/momentum_product/w" : tensor<f64> {init = #gradus.init<constant, 1.000000e+00 : f64>, role = #gradus.role<slot>}
// CHECK-DAG:     gradus.state @"nadam/first_moment/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-DAG:     gradus.state @"nadam/second_moment/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK:         %[[OLD:.*]] = gradus.read @"nadam/momentum_product/w"
// CHECK:         %[[PRODUCT:.*]] = arith.mulf %{{.*}}, %[[OLD]] : tensor<f64>
// CHECK:         gradus.write @"nadam/momentum_product/w", %[[PRODUCT]]
gradus.program @nadam attributes {recipe = {settable = false, optimizer = {type = "nadam"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}
