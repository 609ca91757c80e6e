// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g() {
    // expected-error @below {{has no operands, expected at least one}}
    "gradus.all_reduce"() : () -> ()
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{has results of other types than its operands}}
    %y = gradus.all_reduce %x : tensor<4xf32> -> tensor<2xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xi1>) {
    // expected-error @below {{sums 'i1', expected floats or i64}}
    %y = gradus.all_reduce %x : tensor<4xi1> -> tensor<4xi1>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{names 2 parameters for 1 operands}}
    %y = gradus.all_reduce %x {of = ["w", "b"]} : tensor<4xf32> -> tensor<4xf32>
    gradus.return
  }
}
