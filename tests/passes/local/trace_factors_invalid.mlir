// RUN: gradus-opt %s --trace-factors --verify-diagnostics --split-input-file

// expected-error @below {{recipe: precondition fits no layer that is trained: w keeps its gradient: its gradient is an input of the graph}}
gradus.program @none attributes {recipe = {precondition = {type = "thor"}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> () {
    gradus.update @w, %g : tensor<4x4xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: precondition.refresh.at begins with 5, expected 0: the first update needs factors}}
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

// expected-error @below {{recipe: precondition excludes distribution.logical_ranks, whose processes compute several ranks one after the other}}
gradus.program @ranks attributes {recipe = {deterministic = true, precondition = {type = "thor"}, distribution = {mode = "data_parallel", logical_ranks = 2 : i64}}} {
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

// expected-error @below {{recipe: precondition fits no layer that is trained: w keeps its gradient: `kinds` does not name what it is}}
gradus.program @kinds attributes {recipe = {precondition = {type = "thor", kinds = ["embedding", "layer_norm"]}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x3xf32>, %t: tensor<8x2xf32>) -> () {
    %w = gradus.read @w : tensor<2x3xf32>
    %y = gradus.matmul %x, %w transposed : tensor<8x3xf32>, tensor<2x3xf32> -> tensor<8x2xf32>
    %dy = arith.subf %y, %t : tensor<8x2xf32>
    %dw = gradus.matmul %dy transposed, %x : tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: precondition fits no layer that is trained}}
gradus.program @nothing attributes {recipe = {precondition = {type = "thor"}}} {
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

// -----

// expected-error @below {{recipe: precondition.refresh.measure_every is for a mean over time, and decay is 0: factors are measured where they are inverted}}
gradus.program @last attributes {recipe = {precondition = {type = "thor", refresh = {measure_every = 10 : i64}}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: precondition.refresh.measure_every excludes refresh.at, whose updates measure and invert}}
gradus.program @both attributes {recipe = {precondition = {type = "kfac", refresh = {at = [0 : i64], measure_every = 10 : i64}}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: precondition.bias is "joined", which per_sample false excludes: MindSpore's biases keep their gradients}}
gradus.program @joined attributes {recipe = {precondition = {type = "thor", bias = "joined", per_sample = false}}} {
  gradus.graph @train() -> () {
    gradus.return
  }
}
