// RUN: gradus-opt %s --refresh-variants --verify-diagnostics --split-input-file

gradus.program @taken attributes {recipe = {precondition = {type = "thor"}}} {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%a: tensor<1x3x3xf32>, %g: tensor<1x2x2xf32>, %dw: tensor<2x3xf32>) -> () {
    gradus.update @w, %dw : tensor<2x3xf32>
    gradus.factors @w inputs %a outputs %g {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>, tensor<1x2x2xf32>
    gradus.return
  }
  // expected-error @below {{@train_refresh is a graph of the model, but training derives a variant of that name from @train; rename it in the model}}
  gradus.graph @train_refresh(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    gradus.return %x : tensor<4xf32>
  }
}
