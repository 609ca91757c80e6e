// RUN: gradus-opt %s --partial-reduce --check-ranks --verify-diagnostics --split-input-file

// A counter of steps whose own gradients are finite.
gradus.program @counter attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.state @accepted : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train_accumulate(%finite: tensor<i1>) -> () {
    %count = gradus.read @accepted : tensor<i64>
    %next = arith.addi %count, %count : tensor<i64>
    %kept = arith.select %finite, %next, %count : tensor<i1>, tensor<i64>
    // expected-error @below {{@accepted would differ between ranks: what is written follows from the samples of each, and is not summed over them; a pass has to share it (gradus.all_reduce), or say that the state differs_along ["data"]}}
    gradus.write @accepted, %kept : tensor<i64>
    gradus.return
  }
}

// -----

// The rank itself, and what each rank keeps for itself.
gradus.program @own attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.state @distribution.rank : tensor<i64> {role = #gradus.role<place>, init = #gradus.init<zeros>}
  gradus.state @kept : tensor<f32> {role = #gradus.role<slot>, init = #gradus.init<zeros>, differs_along = ["data"]}
  gradus.state @a : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<f32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train() -> () {
    %rank = gradus.read @distribution.rank : tensor<i64>
    // expected-error @below {{@a would differ between ranks: what is written follows from the samples of each, and is not summed over them; a pass has to share it (gradus.all_reduce), or say that the state differs_along ["data"]}}
    gradus.write @a, %rank : tensor<i64>
    %kept = gradus.read @kept : tensor<f32>
    // expected-error @below {{@b would differ between ranks: what is written follows from the samples of each, and is not summed over them; a pass has to share it (gradus.all_reduce), or say that the state differs_along ["data"]}}
    gradus.write @b, %kept : tensor<f32>
    gradus.return
  }
}

// -----

// Weights are each rank's own; statistics that a pass has not shared are not.
gradus.program @partial attributes {recipe = {distribution = {mode = "data_parallel", reduce = "partial"}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4xf32>) -> () {
    gradus.write @w, %x : tensor<4xf32>
    // expected-error @below {{@mean would differ between ranks: what is written follows from the samples of each, and is not summed over them; a pass has to share it (gradus.all_reduce), or say that the state differs_along ["data"]}}
    gradus.write @mean, %x : tensor<4xf32>
    gradus.return
  }
}
