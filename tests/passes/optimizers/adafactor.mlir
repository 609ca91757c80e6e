// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// A matrix has a number for each row and one for each column.
// CHECK-LABEL: gradus.program @matrix
// CHECK-DAG:     gradus.state @"adafactor/rows/w" : tensor<8xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-DAG:     gradus.state @"adafactor/columns/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-NOT:     second_moment
gradus.program @matrix attributes {recipe = {settable = false, optimizer = {type = "adafactor"}}} {
  gradus.state @w : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<8x4xf32>) -> () {
    gradus.update @w, %g : tensor<8x4xf32>
    gradus.return
  }
}

// CHECK-LABEL: gradus.program @vector
// CHECK-DAG:     gradus.state @"adafactor/second_moment/w" : tensor<8xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
gradus.program @vector attributes {recipe = {settable = false, optimizer = {type = "adafactor"}}} {
  gradus.state @w : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<8xf32>) -> () {
    gradus.update @w, %g : tensor<8xf32>
    gradus.return
  }
}
