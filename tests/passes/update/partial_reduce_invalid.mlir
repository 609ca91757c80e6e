// RUN: gradus-opt %s --partial-reduce --verify-diagnostics --split-input-file

// expected-error @below {{recipe: distribution.parts is 3, but 2 parameters are trained, and none is divided; take at most 2}}
gradus.program @few attributes {recipe = {distribution = {mode = "data_parallel", reduce = "partial", parts = 3 : i64}}} {
  gradus.state @v : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4xf32>) -> () {
    gradus.write @v, %x : tensor<4xf32>
    gradus.write @w, %x : tensor<4xf32>
    gradus.return
  }
}

// -----

// expected-error @below {{recipe: distribution.parts is 2, but 1 parameter is trained, and none is divided; take at most 1}}
gradus.program @one attributes {recipe = {distribution = {mode = "data_parallel", reduce = "partial", parts = 2 : i64}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4xf32>) -> () {
    gradus.write @w, %x : tensor<4xf32>
    gradus.return
  }
}
