// RUN: gradus-opt %s --check-ranks --verify-diagnostics

// What is summed over ranks, follows from states, or is each rank's own by its
// state may be written; one process writes what it likes.
gradus.program @shared attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @own : tensor<4xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>, differs_along = ["data"]}
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> (g: tensor<4xf32>) {
    %step = gradus.read @step : tensor<i64>
    %next = arith.addi %step, %step : tensor<i64>
    gradus.write @step, %next : tensor<i64>
    gradus.write @own, %g : tensor<4xf32>
    %sum = gradus.all_reduce %g : tensor<4xf32> -> tensor<4xf32>
    %half = arith.mulf %sum, %sum : tensor<4xf32>
    gradus.write @w, %half : tensor<4xf32>
    gradus.return %g : tensor<4xf32>
  }
}

gradus.program @alone {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> () {
    gradus.write @w, %g : tensor<4xf32>
    gradus.return
  }
}
