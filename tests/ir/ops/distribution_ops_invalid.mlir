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

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf16>) {
    // expected-error @below {{combines 'f16' in groups, expected f32 alone or f64 alone}}
    %y = gradus.all_reduce %x {groups = #gradus.groups<within 1 mean across adasum epsilon 0.0 : f64>} : tensor<4xf16> -> tensor<4xf16>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>, %y: tensor<4xf64>) {
    // expected-error @below {{combines 'f64' in groups, expected f32 alone or f64 alone}}
    %a, %b = gradus.all_reduce %x, %y {groups = #gradus.groups<within 1 mean across adasum epsilon 0.0 : f64>} : tensor<4xf32>, tensor<4xf64> -> tensor<4xf32>, tensor<4xf64>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{has groups of -1 ranks, expected at least 1, or 0}}
    %y = gradus.all_reduce %x {groups = #gradus.groups<within -1 mean across adasum epsilon 0.0 : f64>} : tensor<4xf32> -> tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{has the epsilon -1.000000e+00, expected a number from 0 on}}
    %y = gradus.all_reduce %x {groups = #gradus.groups<within 1 mean across adasum epsilon -1.0 : f64>} : tensor<4xf32> -> tensor<4xf32>
    gradus.return
  }
}
