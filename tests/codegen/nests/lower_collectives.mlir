// RUN: gradus-opt %s --lower-to-nests | FileCheck %s
// RUN: gradus-opt %s --lower-to-nests --lower-to-nests | FileCheck %s

gradus.program @p {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}

  // What a command makes for the sum alone is summed where it is made, and the
  // sums of a graph are numbered.
  // CHECK-LABEL: gradus.graph @own
  // CHECK:         %[[A:.*]] = plan.nest
  // CHECK:         %[[TOKEN:.*]] = plan.start %[[A]] number 0 : tensor<4xf32> -> tensor<0xi8>
  // CHECK-NEXT:    %[[SUM:.*]] = plan.finish %[[TOKEN]], %[[A]] number 0
  // CHECK:         %[[B:.*]] = plan.nest
  // CHECK-SAME:      %[[SUM]]
  // CHECK:         plan.start %[[B]] number 1
  gradus.graph @own(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %a = arith.addf %x, %x : tensor<4xf32>
    %s = gradus.all_reduce %a : tensor<4xf32> -> tensor<4xf32>
    %b = math.tanh %s : tensor<4xf32>
    %t = gradus.all_reduce %b : tensor<4xf32> -> tensor<4xf32>
    gradus.return %t : tensor<4xf32>
  }

  // Inputs, states, and what others read as well are copied before, each time.
  // CHECK-LABEL: gradus.graph @others
  // CHECK:         %[[W:.*]] = gradus.read @w
  // CHECK:         %[[A:.*]] = plan.nest
  // CHECK:         %[[X1:.*]] = plan.nest {{.*}} with(%x
  // CHECK:         %[[W1:.*]] = plan.nest {{.*}} with(%[[W]]
  // CHECK:         %[[A1:.*]] = plan.nest {{.*}} with(%[[A]]
  // CHECK:         plan.start %[[X1]], %[[W1]], %[[A1]] number 0
  gradus.graph @others(%x: tensor<4xf32>) -> (u: tensor<4xf32>, v: tensor<4xf32>, y: tensor<4xf32>, a: tensor<4xf32>) {
    %w = gradus.read @w : tensor<4xf32>
    %a = arith.addf %x, %w : tensor<4xf32>
    %s:3 = gradus.all_reduce %x, %w, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    gradus.return %s#0, %s#1, %s#2, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
