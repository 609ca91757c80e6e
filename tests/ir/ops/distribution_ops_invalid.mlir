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

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x16xi32>) {
    // expected-error @below {{gathers groups of 2 ranks, expected 1}}
    %y = gradus.all_reduce %x {groups = #gradus.groups<within 2 sum across gather epsilon 0.0 : f64>} : tensor<2x16xi32> -> tensor<2x16xi32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<f32>) {
    // expected-error @below {{gathers 'tensor<f32>', expected a first axis that counts ranks}}
    %y = gradus.all_reduce %x {groups = #gradus.groups<within 1 sum across gather epsilon 0.0 : f64>} : tensor<f32> -> tensor<f32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x8xf32>) {
    // expected-error @below {{gathers parts of 32 bytes, expected a multiple of 64}}
    %y = gradus.all_reduce %x {groups = #gradus.groups<within 1 sum across gather epsilon 0.0 : f64>} : tensor<2x8xf32> -> tensor<2x8xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x8xf32>) {
    // expected-error @below {{selects of 'tensor<2x8xf32>', expected one axis of f32 or f64}}
    %i, %y = gradus.select_largest %x : tensor<2x8xf32> -> tensor<2xi32>, tensor<2xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<8xf16>) {
    // expected-error @below {{selects of 'tensor<8xf16>', expected one axis of f32 or f64}}
    %i, %y = gradus.select_largest %x : tensor<8xf16> -> tensor<2xi32>, tensor<2xf16>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<8xf32>) {
    // expected-error @below {{has the results 'tensor<3xi32>' and 'tensor<2xf32>', expected as many of one axis, values of 'f32'}}
    %i, %y = gradus.select_largest %x : tensor<8xf32> -> tensor<3xi32>, tensor<2xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<8xf32>) {
    // expected-error @below {{selects 9 of 8 elements}}
    %i, %y = gradus.select_largest %x : tensor<8xf32> -> tensor<9xi32>, tensor<9xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<8xf32>, %t: tensor<f64>) {
    // expected-error @below {{has a threshold of the type 'tensor<f64>', expected 'tensor<f32>'}}
    %i, %y = gradus.select_largest %x from %t : tensor<8xf32> from tensor<f64> -> tensor<2xi32>, tensor<2xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{has groups and parts, expected one of them}}
    %y = gradus.all_reduce %x {groups = #gradus.groups<within 1 mean across adasum epsilon 0.0 : f64>, parts = #gradus.parts<scatter ranks 2 unit 16>} : tensor<4xf32> -> tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{has parts of 0 ranks in multiples of 16 elements, expected at least 1 of both}}
    %y = gradus.all_reduce %x {parts = #gradus.parts<scatter ranks 0 unit 16>} : tensor<4xf32> -> tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xi64>) {
    // expected-error @below {{has parts of 'i64', expected floats}}
    %y = gradus.all_reduce %x {parts = #gradus.parts<gather ranks 2 unit 8>} : tensor<4xi64> -> tensor<4xi64>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<64xf32>) {
    // expected-error @below {{expected a part with one dimension of 'f32', found 'tensor<2x16xf32>'}}
    %y = gradus.part %x ranks 2 : tensor<64xf32> -> tensor<2x16xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<40xf32>) {
    // expected-error @below {{expected parts of whole multiples of 64 bytes for at least 1 rank, found 'tensor<20xf32>' for 2}}
    %y = gradus.part %x ranks 2 : tensor<40xf32> -> tensor<20xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<40xf32>) {
    // expected-error @below {{has a part of 16 elements, and 2 of them are fewer than the 40 of the whole}}
    %y = gradus.part %x ranks 2 : tensor<40xf32> -> tensor<16xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<32xf32>) {
    // expected-error @below {{expected a part with one dimension of 'f16', found 'tensor<32xf32>'}}
    %y = gradus.whole %x ranks 2 : tensor<32xf32> -> tensor<40xf16>
    gradus.return
  }
}
