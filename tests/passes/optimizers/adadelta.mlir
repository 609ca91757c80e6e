// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// Squares of gradients and of moves are averaged.
// CHECK-LABEL: gradus.program @adadelta
// CHECK-DAG:     gradus.state @"adadelta/mean_square/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK-DAG:     gradus.state @"adadelta/mean_square_move/w" : tensor<4xf32> {init = #gradus.init<zeros>, role = #gradus.role<slot>}
// CHECK:         gradus.write @"adadelta/mean_square/w"
// CHECK:         gradus.write @"adadelta/mean_square_move/w"
gradus.program @adadelta attributes {recipe = {settable = false, optimizer = {type = "adadelta"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}
