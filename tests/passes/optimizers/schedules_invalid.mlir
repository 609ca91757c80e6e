// RUN: gradus-opt %s --expand-optimizer --split-input-file --verify-diagnostics

// expected-error @below {{recipe: schedule.learning_rate.0.type: unknown value "cosin"; did you mean "cosine"?}}
gradus.program @unknown_piece attributes {recipe = {settable = false, 
    optimizer = {type = "sgd"}, schedule = {learning_rate = [{type = "cosin", steps = 10 : i64}]}}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> () {
    gradus.update @w, %g : tensor<f32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: schedule.learning_rate.0.steps: expected at least 1, found 0}}
gradus.program @no_length attributes {recipe = {settable = false, 
    optimizer = {type = "sgd"}, schedule = {learning_rate = [{type = "cosine", steps = 0 : i64}]}}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> () {
    gradus.update @w, %g : tensor<f32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: schedule.learning_rate.0: does not say how long it is, expected steps, epochs, fraction or rest: only the last piece may go on}}
gradus.program @open attributes {recipe = {settable = false, 
    optimizer = {type = "sgd"},
    schedule = {learning_rate = [{type = "exponential", rate = 0.9}, {type = "constant"}]}}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> () {
    gradus.update @w, %g : tensor<f32>
    gradus.return
  }
}
