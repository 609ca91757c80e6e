// RUN: gradus-opt %s --deal-inverses --check-ranks --split-input-file | FileCheck %s
// RUN: gradus-opt %s --deal-inverses --deal-inverses --check-ranks --split-input-file | FileCheck %s
// RUN: gradus-opt %s --deal-inverses --split-input-file --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: Passed{{.*}}@train: of 5 blocks with a side of 8 each rank inverts 3
// REMARK: Missed{{.*}}@train: of blocks with a side of 4 there is one, which each rank inverts
// REMARK-NOT: inverts

// Five blocks of one size are dealt to two ranks, three each. The other size, of which there is one
// block, stays where it is. An inverse may stand in front of what others invert.
// CHECK-LABEL: gradus.program @layers
// CHECK:         gradus.graph @train
// CHECK:           %[[RANK:.*]] = gradus.read @distribution.rank
// CHECK:           %[[ALL:.*]] = gradus.concatenate %{{.*}}, %{{.*}} axis 0 : tensor<2x8x8xf32>, tensor<3x8x8xf32> -> tensor<5x8x8xf32>
// CHECK:           gradus.broadcast %[[RANK]] dims [] : tensor<i64> -> tensor<3xi64>
// CHECK:           %[[INDEX:.*]] = arith.minsi
// CHECK:           %[[OWN:.*]] = gradus.gather %[[ALL]] at %[[INDEX]] axis 0 : tensor<5x8x8xf32>, tensor<3xi64> -> tensor<3x8x8xf32>
// CHECK:           %[[INVERSE:.*]] = gradus.inverse %[[OWN]] : tensor<3x8x8xf32>
// CHECK:           %[[SPREAD:.*]] = gradus.broadcast %[[INVERSE]] dims [1, 2, 3] : tensor<3x8x8xf32> -> tensor<2x3x8x8xf32>
// CHECK:           %[[PLACED:.*]] = arith.select %{{.*}}, %[[SPREAD]], %{{.*}}
// CHECK:           %[[FLAT:.*]] = gradus.reshape %[[PLACED]] : tensor<2x3x8x8xf32> -> tensor<6x8x8xf32>
// CHECK:           %[[PART:.*]] = gradus.slice %[[FLAT]] starts [0, 0, 0]
// CHECK:           %[[SUM:.*]] = gradus.all_reduce %[[PART]] : tensor<5x8x8xf32> -> tensor<5x8x8xf32>
// CHECK:           %[[A:.*]] = gradus.slice %[[SUM]] starts [0, 0, 0] {{.*}} -> tensor<2x8x8xf32>
// CHECK:           %[[B:.*]] = gradus.slice %[[SUM]] starts [2, 0, 0] {{.*}} -> tensor<3x8x8xf32>
// CHECK:           gradus.write @b, %[[B]]
// CHECK:           %[[OTHER:.*]] = gradus.inverse %{{.*}} : tensor<1x4x4xf32>
// CHECK:           gradus.write @c, %[[OTHER]]
// CHECK:           gradus.write @a, %[[A]]
gradus.program @layers attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64}}} {
  gradus.state @a : tensor<2x8x8xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<3x8x8xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.state @c : tensor<1x4x4xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @train() -> () attributes {gradus.dealt} {
    %a = gradus.read @a : tensor<2x8x8xf32>
    %inverse_a = gradus.inverse %a : tensor<2x8x8xf32>
    gradus.write @a, %inverse_a : tensor<2x8x8xf32>
    %b = gradus.read @b : tensor<3x8x8xf32>
    %twice = arith.addf %b, %b : tensor<3x8x8xf32>
    %inverse_b = gradus.inverse %twice : tensor<3x8x8xf32>
    gradus.write @b, %inverse_b : tensor<3x8x8xf32>
    %c = gradus.read @c : tensor<1x4x4xf32>
    %inverse_c = gradus.inverse %c : tensor<1x4x4xf32>
    gradus.write @c, %inverse_c : tensor<1x4x4xf32>
    gradus.return
  }
}

// -----

// Graphs without the mark stay as they are, and so does what differs between ranks.
// CHECK-LABEL: gradus.program @alone
// CHECK-NOT:     gradus.gather
// CHECK-NOT:     gradus.all_reduce
gradus.program @alone attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64}}} {
  gradus.state @a : tensor<2x8x8xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @train() -> (y: tensor<2x8x8xf32>) {
    %a = gradus.read @a : tensor<2x8x8xf32>
    %inverse = gradus.inverse %a : tensor<2x8x8xf32>
    gradus.return %inverse : tensor<2x8x8xf32>
  }
  gradus.graph @train_refresh(%own: tensor<2x8x8xf32>) -> (y: tensor<2x8x8xf32>) attributes {gradus.dealt, gradus.trains = "updates"} {
    %inverse = gradus.inverse %own : tensor<2x8x8xf32>
    gradus.return %inverse : tensor<2x8x8xf32>
  }
}

// -----

// One process inverts all itself.
// CHECK-LABEL: gradus.program @one_process
// CHECK-NOT:     gradus.gather
// CHECK-NOT:     gradus.all_reduce
gradus.program @one_process attributes {recipe = {distribution = {mode = "none", ranks = 2 : i64}}} {
  gradus.state @a : tensor<2x8x8xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @train() -> (y: tensor<2x8x8xf32>) attributes {gradus.dealt} {
    %a = gradus.read @a : tensor<2x8x8xf32>
    %inverse = gradus.inverse %a : tensor<2x8x8xf32>
    gradus.return %inverse : tensor<2x8x8xf32>
  }
}
