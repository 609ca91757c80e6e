// RUN: gradus-opt %s --local-steps --verify-diagnostics --split-input-file

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

// Sums that are there already do not hide what is excluded.
// expected-error @below {{recipe: distribution.reduce "local" excludes steps that are skipped}}
gradus.program @shared attributes {recipe = {distribution = {mode = "data_parallel", reduce = "local"}}} {
  gradus.graph @train(%finite: tensor<i1>, %x: tensor<f32>) -> (y: tensor<f32>) {
    %y = gradus.all_reduce %x : tensor<f32> -> tensor<f32>
    gradus.guard %finite
    gradus.return %y : tensor<f32>
  }
}
