// RUN: gradus-opt %s --split-input-file --verify-diagnostics

gradus.program @p {
  // expected-error @below {{needs an `init` or a `value`}}
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>}
}

// -----

gradus.program @p {
  // expected-error @below {{has a value of type 'tensor<3xf32>', but its type is 'tensor<2xf32>'}}
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, value = dense<0.0> : tensor<3xf32>}
}

// -----

// The value is of the tensor that ranks have parts of.
gradus.program @p {
  // expected-error @below {{has a value of type 'tensor<2xf32>', but its type is 'tensor<3xf32>'}}
  gradus.state @w : tensor<2xf32> {part_of = tensor<3xf32>, role = #gradus.role<slot>, value = dense<0.0> : tensor<2xf32>}
}

// -----

gradus.program @p {
  // expected-error @below {{is initialized by `normal`, which needs a number}}
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<normal>}
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2xf32>) {
    // expected-error @below {{names @w, but the program has no such state}}
    %w = gradus.read @w : tensor<2xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  // expected-note @below {{the state is declared here}}
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @g(%x: tensor<3xf32>) {
    // expected-error @below {{has a value of type 'tensor<3xf32>', but state @w is 'tensor<2xf32>'}}
    gradus.write @w, %x : tensor<3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @g(%x: tensor<2xf32>) {
    // expected-note @below {{the first value is given here}}
    gradus.update @w, %x : tensor<2xf32>
    // expected-error @below {{gives @w a second value at exit}}
    gradus.write @w, %x : tensor<2xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  // expected-error @below {{has two inputs named "x"}}
  gradus.graph @g(%x: tensor<2xf32>, %y as "x": tensor<2xf32>) {
    gradus.return
  }
}

// -----

gradus.program @p {
  // expected-error @below {{has two outputs named "y"}}
  gradus.graph @g(%x: tensor<2xf32>) -> (y: tensor<2xf32>, y: tensor<2xf32>) {
    gradus.return %x, %x : tensor<2xf32>, tensor<2xf32>
  }
}

// -----

gradus.program @p {
  // expected-error @below {{has an input or output of type 'tensor<?xf32>', expected a tensor of static shape}}
  gradus.graph @g(%x: tensor<?xf32>) {
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2xf32>) -> (y: tensor<2xf32>) {
    // expected-error @below {{returns 0 values, but graph @g has 1 outputs}}
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<2xf32>) -> (y: tensor<3xf32>) {
    // expected-error @below {{returns 'tensor<2xf32>' as output "y", which is 'tensor<3xf32>'}}
    gradus.return %x : tensor<2xf32>
  }
}

// -----

gradus.program @p {
  gradus.graph @train() {
    gradus.return
  }
  gradus.schedule @train {
    // expected-error @below {{names @refresh, but the program has no such graph}}
    gradus.variant @refresh every 10
  }
}

// -----

gradus.program @p {
  gradus.graph @train() {
    gradus.return
  }
  // expected-error @below {{names @accepted, but the program has no such state}}
  gradus.schedule @train by @accepted {
    gradus.variant @train
  }
}

// -----

gradus.program @p {
  gradus.graph @train() {
    gradus.return
  }
  gradus.schedule @train {
    // expected-error @below {{runs at 4 of every 4 steps, expected a smaller number}}
    gradus.variant @train every 4 at 4
  }
}

// -----

gradus.program @p {
  gradus.graph @train(%finite: tensor<i1>) {
    // expected-error @below {{names @step, but the program has no such state}}
    gradus.guard %finite always [@step]
    gradus.return
  }
}

// -----

gradus.program @p {
  // expected-note @below {{the state is declared here}}
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @g(%x: tensor<3xf32>) {
    // expected-error @below {{has a value of type 'tensor<3xf32>', but state @w is 'tensor<2xf32>'}}
    gradus.update @w, %x : tensor<3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.graph @g(%x: tensor<1x3x3xf32>) {
    // expected-error @below {{names @w, but the program has no such state}}
    gradus.factors @w inputs %x {kind = "dense", axes = array<i64: 0>} : tensor<1x3x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @g(%x: tensor<1x3x3xf32>) {
    // expected-error @below {{has axis 2, but @w has 2 axes}}
    gradus.factors @w inputs %x {kind = "dense", axes = array<i64: 2>} : tensor<1x3x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @g(%x: tensor<1x3x3xf32>, %y: tensor<1x2x3xf32>) {
    // expected-error @below {{has outputs of type 'tensor<1x2x3xf32>', expected square blocks [count, n, n]}}
    gradus.factors @w inputs %x outputs %y {kind = "dense", axes = array<i64: 1>} : tensor<1x3x3xf32>, tensor<1x2x3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @g(%x: tensor<3xf32>) {
    // expected-error @below {{has inputs of type 'tensor<3xf32>', expected square blocks [count, n, n]}}
    gradus.factors @w inputs %x {kind = "dense", axes = array<i64: 1>} : tensor<3xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.state @table : tensor<5x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @g(%share: tensor<8xf32>) {
    // expected-error @below {{has 8 numbers as inputs, but @table has 5 rows}}
    gradus.factors @table inputs %share {kind = "embedding", axes = array<i64: 0>} : tensor<8xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.state @rows : tensor<2xf32> {fixed, role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @g(%x: tensor<2xf32>) {
    // expected-error @below {{changes @rows, which is fixed: graphs only read it}}
    gradus.write @rows, %x : tensor<2xf32>
    gradus.return
  }
}

// -----

gradus.program @p {
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @g(%x: tensor<2xf32>) {
    gradus.write @w, %x : tensor<2xf32>
    // expected-note @below {{the first value is given here}}
    gradus.update @w, %x : tensor<2xf32>
    // expected-error @below {{gives @w a second value at exit}}
    gradus.update @w, %x : tensor<2xf32>
    gradus.return
  }
}
