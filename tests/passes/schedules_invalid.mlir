// RUN: gradus-opt %s --expand-optimizer --split-input-file --verify-diagnostics

// expected-error @below {{recipe: schedule.learning_rate[0].type is "cosin", expected one of: cosine, constant, cyclic, list, step, linear, product, piecewise, one_cycle, polynomial, exponential, multi_step, cosine_restarts, inverse_time, linear_warmup, natural_exponential}}
gradus.program @unknown_piece attributes {recipe = {
    optimizer = {type = "sgd"}, schedule = {learning_rate = [{type = "cosin", steps = 10 : i64}]}}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> () {
    gradus.update @w, %g : tensor<f32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: schedule.learning_rate[0].steps is 0, expected 1 or more}}
gradus.program @no_length attributes {recipe = {
    optimizer = {type = "sgd"}, schedule = {learning_rate = [{type = "cosine", steps = 0 : i64}]}}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> () {
    gradus.update @w, %g : tensor<f32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: schedule.learning_rate[0].steps is missing, expected how long this piece is: only the last one may go on}}
gradus.program @open attributes {recipe = {
    optimizer = {type = "sgd"},
    schedule = {learning_rate = [{type = "exponential", rate = 0.9}, {type = "constant"}]}}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> () {
    gradus.update @w, %g : tensor<f32>
    gradus.return
  }
}
