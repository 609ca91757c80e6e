// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  gradus.graph @g(%q: tensor<2x3x4xf32>) {
    // expected-error @below {{takes tensors of [batch, heads, length, width], found 'tensor<2x3x4xf32>'}}
    %y, %l:2 = gradus.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x5xf32>) {
    // expected-error @below {{has the keys 'tensor<1x2x3x5xf32>', expected 'tensor<1x2x3x4xf32>'}}
    %y, %l:2 = gradus.attention %q, %k, %q {scale = 1.0 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x5xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%q: tensor<1x2x3x4xf32>, %v: tensor<1x1x3x4xf32>) {
    // expected-error @below {{has the values 'tensor<1x1x3x4xf32>', expected 'tensor<1x2x3x4xf32>'}}
    %y, %l:2 = gradus.attention %q, %q, %v {scale = 1.0 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x1x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%q: tensor<1x2x3x4xf32>, %m: tensor<1x1x2x3xi1>) {
    // expected-error @below {{has the mask 'tensor<1x1x2x3xi1>', which does not repeat to the scores 'tensor<1x2x3x3xf32>'}}
    %y, %l:2 = gradus.attention %q, %q, %q mask %m {scale = 1.0 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x1x2x3xi1>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%q: tensor<1x2x3x4xf32>) {
    // expected-error @below {{has the result 'tensor<1x2x4x3xf32>', expected 'tensor<1x2x3x4xf32>'}}
    %y, %l:2 = gradus.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x4x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%q: tensor<1x2x3x4xbf16>) {
    // expected-error @below {{has the logsumexp 'tensor<1x2x3xbf16>', expected 'tensor<1x2x3xf32>'}}
    %y, %l:2 = gradus.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<1x2x3x4xbf16>, tensor<1x2x3x4xbf16>, tensor<1x2x3x4xbf16>) -> (tensor<1x2x3x4xbf16>, tensor<1x2x3xbf16>, tensor<1x2x3xbf16>)
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%q: tensor<1x2x3x4xf32>) {
    // expected-error @below {{has the remainder 'tensor<1x2x3x1xf32>', expected 'tensor<1x2x3xf32>'}}
    %y, %l, %r = gradus.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3x1xf32>)
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%q: tensor<1x2x3x4xf32>, %l: tensor<1x2x3xf32>, %d: tensor<1x2x4xf32>) {
    // expected-error @below {{has the delta 'tensor<1x2x4xf32>', expected 'tensor<1x2x3xf32>'}}
    %a, %b, %c = gradus.attention_backward %q, %q, %q, %l, %l, %q, %d {scale = 1.0 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3x4xf32>, tensor<1x2x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%q: tensor<1x2x3x4xf32>, %l: tensor<1x2x3xf32>, %g: tensor<1x2x3x2xf32>) {
    // expected-error @below {{has the gradient 'tensor<1x2x3x2xf32>', expected 'tensor<1x2x3x4xf32>'}}
    %a, %b, %c = gradus.attention_backward %q, %q, %q, %l, %l, %g, %l {scale = 1.0 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3x2xf32>, tensor<1x2x3xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%q: tensor<1x2x3x4xf32>, %s: tensor<i64>) {
    // expected-error @below {{has dropout 1.5}}
    %y, %l:2 = gradus.attention %q, %q, %q step %s {scale = 1.0 : f64, dropout = 1.5 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<i64>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%q: tensor<1x2x3x4xf32>, %s: tensor<i64>) {
    // expected-error @below {{has a step to draw at, but no dropout}}
    %y, %l:2 = gradus.attention %q, %q, %q step %s {scale = 1.0 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<i64>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
    gradus.return
  }
}
