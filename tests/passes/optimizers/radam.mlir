// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// While few steps have gone into the second moment, the first one is taken as it is.
// CHECK-LABEL: gradus.program @radam
// CHECK-DAG:     gradus.state @"radam/first_moment/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-DAG:     gradus.state @"radam/second_moment/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK:         %[[TRUSTS:.*]] = arith.cmpf olt
// CHECK:         arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xf32>
gradus.program @radam attributes {recipe = {settable = false, optimizer = {type = "radam"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}
