// RUN: gradus-opt %s --deal-inverses --check-ranks --split-input-file | FileCheck %s
// RUN: gradus-opt %s --deal-inverses --deal-inverses --check-ranks --split-input-file | FileCheck %s
// RUN: gradus-opt %s --deal-inverses --split-input-file --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: Passed{{.*}}@train: of 5 blocks with a side of 8 each rank inverts 3
// REMARK: Missed{{.*}}@train: of blocks with a side of 4 there is one, which each rank inverts
// REMARK: Passed{{.*}}@train: of 5 blocks with a side of 3 each rank inverts 3
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
// CHECK:           %[[ROW:.*]] = gradus.reshape %[[INVERSE]] : tensor<3x8x8xf32> -> tensor<192xf32>
// CHECK:           %[[SPREAD:.*]] = gradus.broadcast %[[ROW]] dims [1] : tensor<192xf32> -> tensor<2x192xf32>
// CHECK:           %[[PLACED:.*]] = arith.select %{{.*}}, %[[SPREAD]], %{{.*}}
// CHECK:           %[[ROWS:.*]] = gradus.all_reduce %[[PLACED]] {groups = #gradus.groups<within 1 sum across gather {{.*}}>} : tensor<2x192xf32> -> tensor<2x192xf32>
// CHECK:           %[[PADDED:.*]] = gradus.reshape %[[ROWS]] : tensor<2x192xf32> -> tensor<6x8x8xf32>
// CHECK:           %[[INVERSES:.*]] = gradus.slice %[[PADDED]] starts [0, 0, 0] steps [1, 1, 1] : tensor<6x8x8xf32> -> tensor<5x8x8xf32>
// CHECK:           %[[A:.*]] = gradus.slice %[[INVERSES]] starts [0, 0, 0] {{.*}} -> tensor<2x8x8xf32>
// CHECK:           %[[B:.*]] = gradus.slice %[[INVERSES]] starts [2, 0, 0] {{.*}} -> tensor<3x8x8xf32>
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

// A row of a message is whole lines of 64 bytes: 27 numbers of two, and 5 zeros.
// CHECK-LABEL: gradus.program @narrow
// CHECK:           %[[INVERSE:.*]] = gradus.inverse %{{.*}} : tensor<3x3x3xf32>
// CHECK:           %[[FLAT:.*]] = gradus.reshape %[[INVERSE]] : tensor<3x3x3xf32> -> tensor<27xf32>
// CHECK:           %[[ROW:.*]] = gradus.pad %[[FLAT]] low [0] high [5] interior [0] : tensor<27xf32> -> tensor<32xf32>
// CHECK:           gradus.broadcast %[[ROW]] dims [1] : tensor<32xf32> -> tensor<2x32xf32>
// CHECK:           %[[ROWS:.*]] = gradus.all_reduce %{{.*}} {groups = {{.*}} across gather {{.*}}} : tensor<2x32xf32> -> tensor<2x32xf32>
// CHECK:           %[[WITHOUT:.*]] = gradus.slice %[[ROWS]] starts [0, 0] steps [1, 1] : tensor<2x32xf32> -> tensor<2x27xf32>
// CHECK:           gradus.reshape %[[WITHOUT]] : tensor<2x27xf32> -> tensor<6x3x3xf32>
gradus.program @narrow attributes {recipe = {distribution = {mode = "data_parallel", ranks = 2 : i64}}} {
  gradus.state @a : tensor<5x3x3xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @train() -> (y: tensor<5x3x3xf32>) attributes {gradus.dealt} {
    %a = gradus.read @a : tensor<5x3x3xf32>
    %inverse = gradus.inverse %a : tensor<5x3x3xf32>
    gradus.return %inverse : tensor<5x3x3xf32>
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
