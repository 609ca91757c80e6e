// RUN: gradus-opt %s --logical-ranks --verify-diagnostics --split-input-file

// Statistics of all ranks in the forward pass.
gradus.program @nested attributes {recipe = {deterministic = true, distribution = {mode = "data_parallel", logical_ranks = 4 : i64}}} {
  gradus.graph @train(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %sum = gradus.all_reduce %x : tensor<4xf32> -> tensor<4xf32>
    %own = arith.addf %sum, %x : tensor<4xf32>
    // expected-error @below {{is summed over ranks and depends on another sum over ranks, which logical ranks cannot wait for, as a process computes them one after the other; several losses with labels to ignore, and one that the model divides by a count, need distribution.loss_mean "rank"}}
    %y = gradus.all_reduce %own : tensor<4xf32> -> tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

// -----

gradus.program @variants attributes {recipe = {deterministic = true, distribution = {mode = "data_parallel", logical_ranks = 4 : i64}}} {
  // expected-error @below {{has variants already, by accumulation, gradient_freeze or a pass, which distribution.logical_ranks excludes}}
  gradus.graph @train() -> () {
    gradus.return
  }
  gradus.graph @train_cut1() -> () {
    gradus.return
  }
  gradus.schedule @train {
    gradus.variant @train
    gradus.variant @train_cut1 every 2
  }
}

// -----

gradus.program @own attributes {recipe = {deterministic = true, distribution = {mode = "data_parallel", logical_ranks = 4 : i64}}} {
  // expected-error @below {{is each rank's own, and with distribution.logical_ranks a process has several ranks}}
  gradus.state @kept : tensor<f32> {role = #gradus.role<slot>, init = #gradus.init<zeros>, differs_along = ["data"]}
  gradus.graph @train() -> () {
    gradus.return
  }
}
