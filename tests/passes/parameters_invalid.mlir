// RUN: gradus-opt %s --expand-optimizer --verify-diagnostics

// expected-error @below {{recipe: groups[0].match has the pattern "[a": invalid glob pattern}}
gradus.program @half_a_pattern attributes {recipe = {optimizer = {type = "sgd"}, groups = [{match = ["[a"]}]}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> () {
    gradus.update @w, %g : tensor<f32>
    gradus.return
  }
}
