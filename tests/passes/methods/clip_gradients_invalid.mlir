// RUN: gradus-opt %s --clip-gradients --verify-diagnostics

// expected-error @below {{recipe: clip.type: unknown value "norms"; did you mean "norm"?}}
gradus.program @unknown attributes {recipe = {clip = {type = "norms"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}
