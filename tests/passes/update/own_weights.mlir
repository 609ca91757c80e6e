// RUN: gradus-opt %s --local-steps --partial-reduce --verify-diagnostics --split-input-file

// Both methods with weights of ranks refuse the same.
// expected-error @below {{recipe: distribution.reduce "local" excludes distribution.batch_norm "synchronized", whose statistics are of weights that all ranks share}}
gradus.program @norm attributes {recipe = {distribution = {mode = "data_parallel", reduce = "local", batch_norm = "synchronized"}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: distribution.reduce "local" excludes lookahead, which pulls weights back to slow ones that ranks do not share}}
gradus.program @slow attributes {recipe = {lookahead = {steps = 5 : i64}, distribution = {mode = "data_parallel", reduce = "local"}}} {
  gradus.graph @train() -> () {
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

// expected-error @below {{recipe: distribution.reduce "partial" excludes distribution.batch_norm "synchronized", whose statistics are of weights that all ranks share}}
gradus.program @partial_norm attributes {recipe = {distribution = {mode = "data_parallel", reduce = "partial", batch_norm = "synchronized"}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: distribution.reduce "partial" excludes lookahead, which pulls weights back to slow ones that ranks do not share}}
gradus.program @partial_slow attributes {recipe = {lookahead = {steps = 5 : i64}, distribution = {mode = "data_parallel", reduce = "partial"}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: distribution.reduce "partial" excludes other variants of the step: accumulation, gradient_freeze}}
gradus.program @partial_variants attributes {recipe = {distribution = {mode = "data_parallel", reduce = "partial"}}} {
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

// expected-error @below {{recipe: distribution.reduce "partial" excludes precondition, whose curvature is that of all ranks}}
gradus.program @partial_curved attributes {recipe = {precondition = {type = "thor", refresh = {every = 1 : i64}}, distribution = {mode = "data_parallel", reduce = "partial"}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}
