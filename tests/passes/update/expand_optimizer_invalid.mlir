// RUN: gradus-opt %s --expand-optimizer --split-input-file --verify-diagnostics

// expected-error @below {{recipe: optimizer.type: unknown value "adamv"; did you mean "adam"?}}
gradus.program @unknown attributes {recipe = {optimizer = {type = "adamv"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: optimizer.nesterov: is true, but momentum is 0; it looks ahead along the momentum}}
gradus.program @nesterov_alone attributes {recipe = {optimizer = {type = "sgd", nesterov = true}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: optimizer.betas: expected a list of 2, found [0.9]}}
gradus.program @one_beta attributes {recipe = {optimizer = {type = "adam", betas = [0.9]}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// A group that names nothing, and a name in full that is none, are slips of the pen.
// expected-error @below {{recipe: groups[0].match has ["haed.*"], which names no parameter of the model; it has, nearest first: head.w, v}}
// expected-error @below {{recipe: groups[1].match has ["head.v"], which names no parameter of the model; it has, nearest first: head.w, v}}
gradus.program @no_such_group attributes {recipe = {
    optimizer = {type = "sgd"}, groups = [{match = ["haed.*"]}, {match = ["v", "head.v"]}]}} {
  gradus.state @head.w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @head.w, %g : tensor<4xf32>
    gradus.update @v, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// A pattern for models of several kinds is told beside one that matches.
// expected-warning @below {{recipe: groups[0].match has ["*norm*"], which names no parameter of the model; it has, nearest first: w}}
gradus.program @for_others_too attributes {recipe = {
    optimizer = {type = "sgd"}, groups = [{match = ["*norm*", "w"]}]}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// What a method took out may be named, but nothing else that is not there.
// expected-warning @below {{recipe: groups[0].match has ["bn1.weight"], which names only what less_bn or fc_to_fn took out of the model}}
// expected-error @below {{recipe: groups[1].match has ["bn2.wieght"], which names no parameter of the model; it has, nearest first: w}}
gradus.program @taken_out attributes {recipe = {less_bn = {},
    optimizer = {type = "sgd"}, groups = [{match = ["bn1.weight"]}, {match = ["bn2.wieght"]}]},
    taken_out = ["bn1.weight"]} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// Of what is fixed a group changes nothing; one that freezes it says the same.
// expected-warning @below {{recipe: groups[0].match has ["body.*"], which names only what is not trained}}
gradus.program @fixed attributes {recipe = {optimizer = {type = "sgd"},
    groups = [{match = ["body.*", "w"]}, {match = ["body.w"], frozen = true}]}} {
  gradus.state @body.w : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// A model may not have a state under the name of the step counter.
gradus.program @p attributes {recipe = {optimizer = {type = "sgd"}}} {
  // expected-error @below {{is the model's, but training keeps counter of type 'tensor<i64>' under that name; rename it in the model}}
  gradus.state @step : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) {
    gradus.update @step, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: optimizer.others.type: unknown value "muon"; known: adamw, sgd}}
gradus.program @muon_of_a_vector attributes {recipe = {optimizer = {type = "muon", others = {type = "muon"}}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: groups[0].weight_decay is not 0, but rprop looks at signs of gradients alone}}
gradus.program @rprop_decays attributes {recipe = {optimizer = {type = "rprop"}, groups = [{match = ["w"], weight_decay = 0.1}]}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}
