// RUN: gradus-opt %s --training-step --canonicalize --split-input-file | FileCheck %s

// A mean that is one op counts its labels once more: its part in the mean over
// ranks is own / (all / ranks), and 0 where none counts. Accuracy, too.
// CHECK-LABEL: @one_op
gradus.program @one_op attributes {recipe = {loss = {type = "softmax_cross_entropy"}, metrics = ["accuracy"], distribution = {mode = "data_parallel"}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train
  // CHECK: %[[MEAN:.*]] = gradus.softmax_cross_entropy
  // CHECK: %[[OWN:.*]] = gradus.reduce sum
  // CHECK: %[[POSITIVE:.*]] = arith.cmpf ogt, %[[OWN]]
  // CHECK: %[[ALL:.*]] = gradus.all_reduce %[[OWN]]
  // CHECK: %[[SHARED:.*]] = arith.divf %[[ALL]]
  // CHECK: %[[PART:.*]] = arith.divf %[[OWN]], %[[SHARED]]
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[MEAN]], %[[PART]]
  // CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[SHARED]]
  // CHECK: %[[COUNTS:.*]] = arith.ori %[[POSITIVE]], %[[NONE]]
  // CHECK: arith.select %[[COUNTS]], %[[SCALED]]
  // CHECK: gradus.accuracy
  // CHECK: gradus.all_reduce
  // CHECK: gradus.graph @evaluate
  // CHECK-NOT: gradus.all_reduce
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x4xf32>) {
    %w = gradus.read @w : tensor<4x4xf32>
    %y = gradus.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    gradus.return %y : tensor<2x4xf32>
  }
}

// -----

// Terms are divided by the count of all; a sum is multiplied by the ranks.
// CHECK-LABEL: @terms
gradus.program @terms attributes {recipe = {loss = {type = "sum", of = [
    {type = "nll"}, {type = "mse", reduction = "sum", label = "other"}]}, distribution = {mode = "data_parallel"}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train
  // CHECK: %[[ALL:.*]] = gradus.all_reduce
  // CHECK: %[[SHARED:.*]] = arith.divf %[[ALL]]
  // CHECK: %[[NLL:.*]] = arith.divf %{{.*}}, %[[SHARED]]
  // CHECK: %[[SUM:.*]] = gradus.reduce sum
  // CHECK: %[[MSE:.*]] = arith.mulf %[[SUM]]
  // CHECK: arith.addf %[[NLL]], %[[MSE]]
  // CHECK: gradus.graph @evaluate
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x4xf32>) {
    %w = gradus.read @w : tensor<4x4xf32>
    %y = gradus.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    gradus.return %y : tensor<2x4xf32>
  }
}

// -----

// Ranks with weights of their own follow the gradient of the sum as it is, and
// the number of ranks multiplies what is reported.
// CHECK-LABEL: @own_sum
gradus.program @own_sum attributes {recipe = {loss = {type = "mse", reduction = "sum", weight = 0.5}, distribution = {mode = "data_parallel", reduce = "partial"}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train
  // CHECK: %[[SUM:.*]] = gradus.reduce sum
  // CHECK: %[[TIMES:.*]] = arith.mulf %[[SUM]]
  // CHECK: %[[LOSS:.*]] = gradus.stop_gradient %[[TIMES]] passing_to %[[SUM]]
  // CHECK: arith.mulf %[[LOSS]]
  // CHECK: gradus.graph @evaluate
  // CHECK-NOT: gradus.stop_gradient
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x4xf32>) {
    %w = gradus.read @w : tensor<4x4xf32>
    %y = gradus.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    gradus.return %y : tensor<2x4xf32>
  }
}

// -----

// The mean of ranks' means sends nothing; a rank without labels divides by 1.
// CHECK-LABEL: @own
gradus.program @own attributes {recipe = {loss = {type = "nll"}, distribution = {mode = "data_parallel", loss_mean = "rank"}}} {
  gradus.state @w : tensor<4x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  // CHECK: gradus.graph @train
  // CHECK-NOT: gradus.all_reduce
  // CHECK: %[[COUNTS:.*]] = arith.cmpf ogt, %[[OWN:.*]], %
  // CHECK: %[[COUNT:.*]] = arith.select %[[COUNTS]], %[[OWN]]
  // CHECK: arith.divf %{{.*}}, %[[COUNT]]
  gradus.graph @predict(%x: tensor<2x4xf32>) -> (y: tensor<2x4xf32>) {
    %w = gradus.read @w : tensor<4x4xf32>
    %y = gradus.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    gradus.return %y : tensor<2x4xf32>
  }
}
