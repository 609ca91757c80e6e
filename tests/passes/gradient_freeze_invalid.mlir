// RUN: gradus-opt %s --gradient-freeze --verify-diagnostics --split-input-file

// expected-warning @below {{recipe: gradient_freeze.groups is 10, but the model has only 1 layers to begin from}}
gradus.program @few attributes {recipe = {gradient_freeze = {}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> () {
    gradus.update @w, %g : tensor<4x4xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: gradient_freeze.strategy names group 1, but there are 1, from 0 on}}
gradus.program @strategy attributes {recipe = {gradient_freeze = {groups = 1 : i64, strategy = [0 : i64, 1 : i64]}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> () {
    gradus.update @w, %g : tensor<4x4xf32>
    gradus.return
  }
}
