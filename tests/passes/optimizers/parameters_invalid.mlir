// RUN: gradus-opt %s --expand-optimizer --verify-diagnostics

// A bracket is a character like any other.
// expected-error @below {{recipe: groups[0].match has ["[a"], which names no parameter of the model; it has, nearest first: w}}
gradus.program @bracket attributes {recipe = {optimizer = {type = "sgd"}, groups = [{match = ["[a"]}]}} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) -> () {
    gradus.update @w, %g : tensor<f32>
    gradus.return
  }
}
