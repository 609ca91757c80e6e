// RUN: gradus-opt %s --loss-scale-borders --split-input-file --verify-diagnostics

// Groups follow from no default.
// expected-error@+1 {{recipe: loss_scale.groups is empty; expected a list of patterns of parameters for each group, such as}}
gradus.program @empty attributes {recipe = {loss_scale = {type = "group", groups = []}}} {
  gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %v = gradus.read @v : tensor<f32>
    %w = gradus.read @w : tensor<f32>
    %y = arith.mulf %x, %v : tensor<f32>
    %loss = arith.mulf %y, %w : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

// A pattern that names nothing is a mistake.
// expected-error@+1 {{recipe: loss_scale.groups[1] has "q*", which names no parameter of the model; it has, nearest first: v, w}}
gradus.program @nothing attributes {recipe = {loss_scale = {type = "group", groups = [["v"], ["w", "q*"]]}}} {
  gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %v = gradus.read @v : tensor<f32>
    %w = gradus.read @w : tensor<f32>
    %y = arith.mulf %x, %v : tensor<f32>
    %loss = arith.mulf %y, %w : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

// A parameter without a scale could not be unscaled.
// expected-error@+1 {{recipe: loss_scale.groups has no group for "w"; each trained parameter needs one}}
gradus.program @missing attributes {recipe = {loss_scale = {type = "group", groups = [["v"]]}}} {
  gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %v = gradus.read @v : tensor<f32>
    %w = gradus.read @w : tensor<f32>
    %y = arith.mulf %x, %v : tensor<f32>
    %loss = arith.mulf %y, %w : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

// Nor is it clear which of two scales would count.
// expected-error@+1 {{recipe: loss_scale.groups[1] has "v", which loss_scale.groups[0] has, too; a parameter is in one group}}
gradus.program @twice attributes {recipe = {loss_scale = {type = "group", groups = [["v"], ["*"]]}}} {
  gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %v = gradus.read @v : tensor<f32>
    %w = gradus.read @w : tensor<f32>
    %y = arith.mulf %x, %v : tensor<f32>
    %loss = arith.mulf %y, %w : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

// A group of which nothing is trained has no gradient to scale.
// expected-error@+1 {{recipe: loss_scale.groups[0] has no trained parameter, and a scale without gradients means nothing; leave the group out}}
gradus.program @idle attributes {recipe = {fixed = ["v"], loss_scale = {type = "group", groups = [["v"], ["w"]]}}} {
  gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %v = gradus.read @v : tensor<f32>
    %w = gradus.read @w : tensor<f32>
    %y = arith.mulf %x, %v : tensor<f32>
    %loss = arith.mulf %y, %w : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

// The bounds leave no number between them.
// expected-error@+1 {{recipe: loss_scale.minimum is 4, above loss_scale.maximum, which is 2}}
gradus.program @bounds attributes {recipe = {loss_scale = {type = "group", groups = [["v"], ["w"]], minimum = 4.0, maximum = 2.0}}} {
  gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %v = gradus.read @v : tensor<f32>
    %w = gradus.read @w : tensor<f32>
    %y = arith.mulf %x, %v : tensor<f32>
    %loss = arith.mulf %y, %w : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

// There is a scale for each group, or one for all.
// expected-error@+1 {{recipe: loss_scale.initial has 3 numbers for 2 groups; expected one for each, or one for all}}
gradus.program @few attributes {recipe = {loss_scale = {type = "group", groups = [["v"], ["w"]], initial = [8.0, 4.0, 2.0]}}} {
  gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %v = gradus.read @v : tensor<f32>
    %w = gradus.read @w : tensor<f32>
    %y = arith.mulf %x, %v : tensor<f32>
    %loss = arith.mulf %y, %w : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

// Scales begin between their bounds.
// expected-error@+1 {{recipe: loss_scale.initial is 0.5, outside of loss_scale.minimum 1 to loss_scale.maximum 16777216}}
gradus.program @outside attributes {recipe = {loss_scale = {type = "group", groups = [["v"], ["w"]], initial = [8.0, 0.5]}}} {
  gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %v = gradus.read @v : tensor<f32>
    %w = gradus.read @w : tensor<f32>
    %y = arith.mulf %x, %v : tensor<f32>
    %loss = arith.mulf %y, %w : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

// The model's own state of that name would be overwritten.
gradus.program @taken attributes {recipe = {fixed = ["loss_scale/0"], loss_scale = {type = "group", groups = [["w"]]}}} {
  // expected-error@+1 {{is the model's, but training keeps hyperparameter of type 'tensor<f32>' under that name; rename it in the model}}
  gradus.state @"loss_scale/0" : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<f32>
    %loss = arith.mulf %x, %w : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}
