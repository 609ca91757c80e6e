// RUN: gradus-opt %s --gradient-centralization --verify-diagnostics --split-input-file

// expected-error @below {{recipe: gradient_centralization.kinds: expected a list, found "dense"}}
gradus.program @p attributes {recipe = {gradient_centralization = {kinds = "dense"}}} {
  gradus.state @w : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<8x4xf32>) -> () {
    gradus.update @w, %g : tensor<8x4xf32>
    gradus.return
  }
}
