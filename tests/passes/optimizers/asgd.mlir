// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// The mean of the parameters stands beside them.
// CHECK-LABEL: gradus.program @asgd
// CHECK-DAG:     gradus.state @"asgd/average/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK:         gradus.write @w, %[[NEW:.*]] :
// CHECK:         %[[OLD:.*]] = gradus.read @"asgd/average/w"
// CHECK:         arith.subf %[[NEW]], %[[OLD]]
gradus.program @asgd attributes {recipe = {settable = false, optimizer = {type = "asgd"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}
