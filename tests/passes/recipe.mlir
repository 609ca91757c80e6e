// RUN: gradus-opt %s --expand-optimizer --verify-diagnostics
// RUN: not gradus-opt %s --expand-optimizer

// A value of the wrong kind is named with its key and with what was expected.
// expected-error @below {{recipe: optimizer.learning_rate: expected a number, found "fast"}}
gradus.program @wrong_kind attributes {recipe = {optimizer = {type = "sgd", learning_rate = "fast"}}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> () {
    gradus.update @w, %g : tensor<f32>
    gradus.return
  }
}
