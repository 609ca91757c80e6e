// RUN: gradus-opt %s --gradient-freeze --verify-diagnostics --split-input-file

// expected-warning @below {{recipe: gradient_freeze.groups is 10, but the model has only 1 layers to begin from}}
gradus.program @few attributes {recipe = {gradient_freeze = {}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> () {
    gradus.update @w, %g : tensor<4x4xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: gradient_freeze.strategy names group 1, but there are 1, from 0 on}}
gradus.program @strategy attributes {recipe = {gradient_freeze = {groups = 1 : i64, strategy = [0 : i64, 1 : i64]}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> () {
    gradus.update @w, %g : tensor<4x4xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: gradient_freeze.from.heads* names no parameter that is trained; these are, nearest first: head.weight, body.weight}}
gradus.program @unknown attributes {recipe = {gradient_freeze = {from = {"heads*" = 3 : i64}}}} {
  gradus.state @body.weight : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @head.weight : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
    %v = gradus.read @body.weight : tensor<4x4xf32>
    %w = gradus.read @head.weight : tensor<4x4xf32>
    %y = arith.addf %v, %w : tensor<4x4xf32>
    gradus.update @body.weight, %g : tensor<4x4xf32>
    gradus.update @head.weight, %g : tensor<4x4xf32>
    gradus.return %y : tensor<4x4xf32>
  }
}

// -----

// expected-error @below {{recipe: gradient_freeze.until leaves no parameter to train from step 0 on}}
gradus.program @nothing attributes {recipe = {gradient_freeze = {until = {"*" = 3 : i64}}}} {
  gradus.state @body.weight : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @head.weight : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
    %v = gradus.read @body.weight : tensor<4x4xf32>
    %w = gradus.read @head.weight : tensor<4x4xf32>
    %y = arith.addf %v, %w : tensor<4x4xf32>
    gradus.update @body.weight, %g : tensor<4x4xf32>
    gradus.update @head.weight, %g : tensor<4x4xf32>
    gradus.return %y : tensor<4x4xf32>
  }
}

// -----

// expected-error @below {{recipe: gradient_freeze.until.head[ names no parameter that is trained; these are, nearest first: head.weight, body.weight}}
gradus.program @bracket attributes {recipe = {gradient_freeze = {until = {"head[" = 3 : i64}}}} {
  gradus.state @body.weight : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @head.weight : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
    %v = gradus.read @body.weight : tensor<4x4xf32>
    %w = gradus.read @head.weight : tensor<4x4xf32>
    %y = arith.addf %v, %w : tensor<4x4xf32>
    gradus.update @body.weight, %g : tensor<4x4xf32>
    gradus.update @head.weight, %g : tensor<4x4xf32>
    gradus.return %y : tensor<4x4xf32>
  }
}

// -----

// expected-warning @below {{recipe: gradient_freeze.last_layers is 3, but the model has only 2 layers to train}}
gradus.program @more attributes {recipe = {gradient_freeze = {last_layers = 3 : i64}}} {
  gradus.state @body.weight : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @head.weight : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
    %v = gradus.read @body.weight : tensor<4x4xf32>
    %w = gradus.read @head.weight : tensor<4x4xf32>
    %y = arith.addf %v, %w : tensor<4x4xf32>
    gradus.update @body.weight, %g : tensor<4x4xf32>
    gradus.update @head.weight, %g : tensor<4x4xf32>
    gradus.return %y : tensor<4x4xf32>
  }
}
