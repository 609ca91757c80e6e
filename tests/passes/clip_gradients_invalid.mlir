// RUN: gradus-opt %s --clip-gradients --verify-diagnostics

// expected-error @below {{recipe: clip.type is "norms", expected one of: global_norm, norm, value, adaptive}}
gradus.program @unknown attributes {recipe = {clip = {type = "norms"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.update @w, %g : tensor<4xf32>
    gradus.return
  }
}
