// RUN: gradus-opt %s --expand-optimizer --canonicalize --cse | FileCheck %s

// A slot is named after the optimizer, what it remembers and the parameter.
// CHECK-LABEL: gradus.program @shared
// CHECK:         gradus.state @"adam/first_moment/w"
// CHECK:         gradus.state @"adam/second_moment/w"
gradus.program @shared attributes {recipe = {settable = false, optimizer = {type = "adam"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}
