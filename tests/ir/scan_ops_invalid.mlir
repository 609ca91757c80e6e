// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{has 0 steps, expected 1 or more}}
    %y = gradus.scan 0 carry(%x : tensor<4xf32>) body {
    ^bb0(%a: tensor<4xf32>):
      gradus.yield %a : tensor<4xf32>
    } -> tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{runs over 'tensor<4xf32>', whose first dimension is not its 3 steps}}
    %y = gradus.scan 3 over(%x : tensor<4xf32>) body {
    ^bb0(%a: tensor<f32>):
      gradus.yield %a : tensor<f32>
    } -> tensor<3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>, %y: tensor<3xf32>) {
    // expected-error @below {{has 1 results, expected the 2 carried values and more}}
    %z = gradus.scan 3 carry(%x, %y : tensor<4xf32>, tensor<3xf32>) body {
    ^bb0(%a: tensor<4xf32>, %b: tensor<3xf32>):
      gradus.yield %a, %b : tensor<4xf32>, tensor<3xf32>
    } -> tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{carries 'tensor<4xf32>', but returns 'tensor<3xf32>'}}
    %y = gradus.scan 3 carry(%x : tensor<4xf32>) body {
    ^bb0(%a: tensor<4xf32>):
      gradus.yield %a : tensor<4xf32>
    } -> tensor<3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{stacks slices to 'tensor<4xf32>', whose first dimension is not its 3 steps}}
    %y, %z = gradus.scan 3 carry(%x : tensor<4xf32>) body {
    ^bb0(%a: tensor<4xf32>):
      gradus.yield %a, %a : tensor<4xf32>, tensor<4xf32>
    } -> tensor<4xf32>, tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{has a body with 2 arguments, expected 1}}
    %y = gradus.scan 3 carry(%x : tensor<4xf32>) body {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      gradus.yield %a : tensor<4xf32>
    } -> tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>, %s: tensor<3x2xf32>) {
    // expected-error @below {{has a body with 'tensor<3x2xf32>' as number 1 of its arguments, expected 'tensor<2xf32>'}}
    %y = gradus.scan 3 carry(%x : tensor<4xf32>) over(%s : tensor<3x2xf32>) body {
    ^bb0(%a: tensor<4xf32>, %b: tensor<3x2xf32>):
      gradus.yield %a : tensor<4xf32>
    } -> tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{has a body with 2 yielded values, expected 1}}
    %y = gradus.scan 3 carry(%x : tensor<4xf32>) body {
    ^bb0(%a: tensor<4xf32>):
      gradus.yield %a, %a : tensor<4xf32>, tensor<4xf32>
    } -> tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{has a body that does not end in gradus.yield}}
    %y = gradus.scan 3 carry(%x : tensor<4xf32>) body {
    ^bb0(%a: tensor<4xf32>):
      plan.yield %a : tensor<4xf32>
    } -> tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    %y = gradus.scan 3 carry(%x : tensor<4xf32>) body {
    ^bb0(%a: tensor<4xf32>):
      // expected-error @below {{is in the body of a scan, whose ops may have no effect beside their results}}
      %b = gradus.all_reduce %a : tensor<4xf32> -> tensor<4xf32>
      gradus.yield %b : tensor<4xf32>
    } -> tensor<4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x4xf32>) {
    %y = gradus.scan 3 carry(%x : tensor<2x4xf32>) body {
    ^bb0(%a: tensor<2x4xf32>):
      // expected-error @below {{'gradus.scan' op is in the body of a scan, which may have no scan of its own}}
      %b = gradus.scan 2 carry(%a : tensor<2x4xf32>) body {
      ^bb1(%c: tensor<2x4xf32>):
        gradus.yield %c : tensor<2x4xf32>
      } -> tensor<2x4xf32>
      gradus.yield %b : tensor<2x4xf32>
    } -> tensor<2x4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x4xf32>) {
    %y = gradus.scan 3 carry(%x : tensor<2x4xf32>) body {
    ^bb0(%a: tensor<2x4xf32>):
      // expected-error @below {{'gradus.dropout' op is in the body of a scan, whose ops may neither be others in training nor draw random numbers}}
      %b = gradus.dropout %a ratio 0.5 : tensor<2x4xf32>
      gradus.yield %b : tensor<2x4xf32>
    } -> tensor<2x4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x4xf32>, %t: tensor<i64>) {
    %y = gradus.scan 3 carry(%x : tensor<2x4xf32>) with(%t : tensor<i64>) body {
    ^bb0(%a: tensor<2x4xf32>, %it: tensor<i64>):
      // expected-error @below {{'gradus.random_bits' op is in the body of a scan, whose ops may neither be others in training nor draw random numbers}}
      %r = gradus.random_bits %it stream 0 seed 1 : tensor<2x4xi64>
      %b = arith.sitofp %r : tensor<2x4xi64> to tensor<2x4xf32>
      gradus.yield %b : tensor<2x4xf32>
    } -> tensor<2x4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2x4xf32>, %s: tensor<4xf32>) {
    %y = gradus.scan 3 carry(%x : tensor<2x4xf32>) with(%s : tensor<4xf32>) body {
    ^bb0(%a: tensor<2x4xf32>, %v: tensor<4xf32>):
      // Without a momentum it is the same in training.
      %c = gradus.batch_norm %a, %v, %v mean %v variance %v epsilon 0.1 : tensor<2x4xf32>, tensor<4xf32>
      // expected-error @below {{'gradus.batch_norm' op is in the body of a scan, whose ops may neither be others in training nor draw random numbers}}
      %b = gradus.batch_norm %c, %v, %v mean %v variance %v epsilon 0.1 momentum 0.9 : tensor<2x4xf32>, tensor<4xf32>
      gradus.yield %b : tensor<2x4xf32>
    } -> tensor<2x4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<1x2x3x4xf32>) {
    %y = gradus.scan 3 carry(%x : tensor<1x2x3x4xf32>) body {
    ^bb0(%a: tensor<1x2x3x4xf32>):
      // expected-error @below {{'gradus.attention' op is in the body of a scan, whose ops may neither be others in training nor draw random numbers}}
      %b, %l:2 = gradus.attention %a, %a, %a {scale = 1.0 : f64, dropout = 0.5 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
      gradus.yield %b : tensor<1x2x3x4xf32>
    } -> tensor<1x2x3x4xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) {
    // expected-error @below {{'gradus.yield' op expects parent op 'gradus.scan'}}
    gradus.yield %x : tensor<4xf32>
  }
}
