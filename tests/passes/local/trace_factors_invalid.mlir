// RUN: gradus-opt %s --trace-factors --verify-diagnostics --split-input-file

// expected-error @below {{recipe: precondition.kinds fits no trained weight of the model}}
gradus.program @none attributes {recipe = {precondition = {type = "thor", kinds = ["dense"]}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> () {
    gradus.update @w, %g : tensor<4x4xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: precondition.refresh.at does not begin with 0, and the first update needs factors}}
gradus.program @late attributes {recipe = {precondition = {type = "thor", refresh = {at = [5 : i64]}}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: precondition.refresh.at has 10 after 20, expected ascending updates}}
gradus.program @order attributes {recipe = {precondition = {type = "thor", refresh = {at = [0 : i64, 20 : i64, 10 : i64]}}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: precondition is not built yet for distribution.mode "data_parallel"; train on one process, or without precondition}}
gradus.program @ranks attributes {recipe = {precondition = {type = "thor"}, distribution = {mode = "data_parallel"}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: precondition excludes the optimizer muon, which w has: it preconditions gradients itself}}
gradus.program @muon attributes {recipe = {precondition = {type = "kfac"}, optimizer = {type = "muon"}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> () {
    gradus.update @w, %g : tensor<4x4xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: precondition.refresh.spread is 8, more than the updates from one refresh to the next, refresh.every, which is 4}}
gradus.program @spread attributes {recipe = {precondition = {type = "thor", refresh = {every = 4 : i64, spread = 8 : i64}}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: precondition.refresh.spread is 2, but refresh.at says the updates of whole refreshes; use refresh.every}}
gradus.program @both attributes {recipe = {precondition = {type = "thor", refresh = {at = [0 : i64, 20 : i64], spread = 2 : i64}}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}
