// RUN: gradus-opt %s --local-steps --verify-diagnostics --split-input-file

// expected-error @below {{recipe: distribution.reduce "local" excludes distribution.batch_norm "synchronized", for which ranks meet in each step}}
gradus.program @norm attributes {recipe = {distribution = {mode = "data_parallel", reduce = "local", batch_norm = "synchronized"}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: distribution.reduce "local" excludes lookahead, whose slow weights the meetings would move, too}}
gradus.program @slow attributes {recipe = {lookahead = {steps = 5 : i64}, distribution = {mode = "data_parallel", reduce = "local"}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: distribution.reduce "local" excludes ema: the weights of a step are each rank's own}}
gradus.program @average attributes {recipe = {ema = {decay = 0.9}, distribution = {mode = "data_parallel", reduce = "local"}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: distribution.reduce "local" excludes steps that are skipped (on_nonfinite "skip", a dynamic loss_scale), about which ranks would have to agree in each of them; take precision "bf16" or a static loss_scale}}
gradus.program @guarded attributes {recipe = {distribution = {mode = "data_parallel", reduce = "local"}}} {
  gradus.graph @train(%finite: tensor<i1>) -> () {
    gradus.guard %finite
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: distribution.reduce "local" excludes other variants of the step: accumulation, gradient_freeze}}
gradus.program @variants attributes {recipe = {distribution = {mode = "data_parallel", reduce = "local"}}} {
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train() -> () {
    gradus.return
  }
  gradus.graph @train_other() -> () {
    gradus.return
  }
  gradus.schedule @train by @step {
    gradus.variant @train_other every 2
  }
}

// -----

// expected-error @below {{recipe: distribution.reduce "local" excludes precondition, whose curvature is that of all ranks}}
gradus.program @curved attributes {recipe = {precondition = {type = "thor", refresh = {every = 1 : i64}}, distribution = {mode = "data_parallel", reduce = "local"}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}

// -----

// Sums that are there already do not hide what is excluded.
// expected-error @below {{recipe: distribution.reduce "local" excludes steps that are skipped}}
gradus.program @shared attributes {recipe = {distribution = {mode = "data_parallel", reduce = "local"}}} {
  gradus.graph @train(%finite: tensor<i1>, %x: tensor<f32>) -> (y: tensor<f32>) {
    %y = gradus.all_reduce %x : tensor<f32> -> tensor<f32>
    gradus.guard %finite
    gradus.return %y : tensor<f32>
  }
}
