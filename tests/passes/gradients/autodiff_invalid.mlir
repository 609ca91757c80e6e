// RUN: gradus-opt %s --autodiff --split-input-file --verify-diagnostics

gradus.program @no_rule {
  gradus.state @conv.weight : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @conv.bias : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @head : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %w = gradus.read @conv.weight : tensor<f32>
    %b = gradus.read @conv.bias : tensor<f32>
    %h = gradus.read @head : tensor<f32>
    %0 = arith.mulf %x, %w : tensor<f32>
    %1 = arith.addf %0, %b : tensor<f32>
    // expected-error @below {{has no gradient rule, which cuts these parameters off from the loss: conv.weight, conv.bias}}
    // expected-note @below {{a rule is an implementation of Differentiable}}
    %2 = math.cbrt %1 : tensor<f32>
    %loss = arith.mulf %2, %h : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

// Each is told, also the one behind another.
gradus.program @no_rules {
  gradus.state @a : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %a = gradus.read @a : tensor<f32>
    %b = gradus.read @b : tensor<f32>
    // expected-error @below {{has no gradient rule, which cuts these parameters off from the loss: a}}
    %0 = math.cbrt %a : tensor<f32>
    %1 = arith.mulf %0, %b : tensor<f32>
    // expected-error @below {{has no gradient rule, which cuts these parameters off from the loss: a, b}}
    // expected-note @below {{a rule is an implementation of Differentiable}}
    %2 = math.cbrt %1 : tensor<f32>
    // Does not depend on parameters, so it needs no rule.
    %3 = math.cbrt %x : tensor<f32>
    %loss = arith.mulf %2, %3 : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

// So is one in the body of a scan, of a weight or what a step made of it; one
// of the slices alone needs no rule.
gradus.program @no_rule_in_a_scan {
  gradus.state @v : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%h: tensor<4xf32>, %x: tensor<3x4xf32>) -> (loss: tensor<f32>) {
    %v = gradus.read @v : tensor<4xf32>
    %w = gradus.read @w : tensor<4xf32>
    %y = gradus.scan 3 carry(%h : tensor<4xf32>) over(%x : tensor<3x4xf32>) with(%w : tensor<4xf32>) body {
    ^bb0(%a: tensor<4xf32>, %s: tensor<4xf32>, %u: tensor<4xf32>):
      // expected-error @below {{has no gradient rule, which cuts these parameters off from the loss: w}}
      %0 = math.cbrt %a : tensor<4xf32>
      %1 = math.cbrt %s : tensor<4xf32>
      // expected-error @below {{has no gradient rule, which cuts these parameters off from the loss: w}}
      // expected-note @below {{a rule is an implementation of Differentiable}}
      %2 = math.cbrt %u : tensor<4xf32>
      %3 = arith.mulf %0, %1 : tensor<4xf32>
      %4 = arith.mulf %3, %2 : tensor<4xf32>
      gradus.yield %4 : tensor<4xf32>
    } -> tensor<4xf32>
    %z = arith.mulf %y, %v : tensor<4xf32>
    %loss = gradus.reduce sum %z axes [0] : tensor<4xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

gradus.program @no_loss {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // expected-error @below {{has no output named "loss" that is one float, tensor<f32>}}
  gradus.graph @train() -> (loss: tensor<4xf32>) {
    %w = gradus.read @w : tensor<4xf32>
    gradus.return %w : tensor<4xf32>
  }
}

// -----

// expected-error @below {{has no parameter to train: none matches the recipe's `trainable` and neither `fixed` nor a group that is `frozen`}}
gradus.program @all_fixed attributes {recipe = {fixed = ["*"]}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train() -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<f32>
    gradus.return %w : tensor<f32>
  }
}

// -----

// Nearest to the loss: what is behind it cannot be reached anyway.
gradus.program @rounded {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<f32>
    %0 = math.floor %w : tensor<f32>
    %1 = arith.mulf %0, %x : tensor<f32>
    // expected-error @below {{stops the gradient: its result does not follow small changes, and no other way leads from the loss to a trained parameter}}
    %2 = math.roundeven %1 : tensor<f32>
    %loss = arith.addf %2, %x : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

gradus.program @through_integers {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train() -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<f32>
    // expected-error @below {{stops the gradient}}
    %0 = arith.fptosi %w : tensor<f32> to tensor<i32>
    %loss = arith.sitofp %0 : tensor<i32> to tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

// Each parameter's own way to the loss counts.
gradus.program @some_are_trained {
  gradus.state @rounded : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @compared : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @unused : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @trained : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // expected-warning @below {{the loss does not depend on parameter "unused", so training leaves it as it is}}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %r = gradus.read @rounded : tensor<f32>
    %c = gradus.read @compared : tensor<f32>
    %u = gradus.read @unused : tensor<f32>
    %t = gradus.read @trained : tensor<f32>
    %0 = arith.mulf %x, %r : tensor<f32>
    // expected-warning @below {{stops the gradient: its result does not follow small changes, and no other way leads from the loss to parameter "rounded", so training leaves it as it is}}
    %1 = math.floor %0 : tensor<f32>
    // expected-warning @below {{stops the gradient: its result does not follow small changes, and no other way leads from the loss to parameter "compared", so training leaves it as it is}}
    %2 = arith.cmpf ogt, %c, %x : tensor<f32>
    %3 = arith.select %2, %1, %x : tensor<i1>, tensor<f32>
    %loss = arith.mulf %3, %t : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}

// -----

gradus.program @cut_off {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // expected-error @below {{has a loss that depends on no trained parameter}}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    gradus.return %x : tensor<f32>
  }
}

// -----

gradus.program @detached {
  gradus.state @target : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @online : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %t = gradus.read @target : tensor<f32>
    %o = gradus.read @online : tensor<f32>
    %0 = arith.mulf %x, %t : tensor<f32>
    // expected-warning @below {{stops the gradient, as `detach` in the model says, and no other way leads from the loss to parameter "target", so training leaves it as it is}}
    %1 = gradus.stop_gradient %0 : tensor<f32>
    %loss = arith.mulf %1, %o : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}
