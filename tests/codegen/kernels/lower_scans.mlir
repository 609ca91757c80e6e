// RUN: gradus-opt %s --lower-scans | FileCheck %s
// RUN: gradus-opt %s --lower-scans=loops=false | FileCheck %s --check-prefix=OUT

// Rows of a batch are items; a weight is packed once for all steps; the step
// reads its slice and writes its place.
// CHECK-DAG: #[[THIS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d0 * 8 + d3, d2 * 16 + d4)>
// CHECK-DAG: #[[NEXT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d0 * 8 + d3, ((d2 + 1) mod 2) * 16 + d4)>
// CHECK-LABEL: gradus.graph @rows
// CHECK: %[[PARTS:.*]] = gradus.reshape %w : tensor<32x16xf32> -> tensor<2x16x16xf32>
// CHECK: %[[PACKED:.*]] = gradus.transpose %[[PARTS]] perm [0, 2, 1]
// CHECK: plan.launch @[[ROWS:.*]](%{{.*}}) items [3]
// CHECK-NOT: gradus.scan
// OUT-LABEL: gradus.graph @rows
// OUT-COUNT-2: gradus.matmul
// OUT-NOT: gradus.matmul
// OUT: gradus.concatenate
gradus.program @p {
  gradus.graph @rows(%h: tensor<24x16xf32>, %x: tensor<2x24x32xf32>, %w: tensor<32x16xf32>) -> (y: tensor<2x24x16xf32>) {
    %last, %y = gradus.scan 2 carry(%h : tensor<24x16xf32>) over(%x : tensor<2x24x32xf32>) with(%w : tensor<32x16xf32>) body {
    ^bb0(%a: tensor<24x16xf32>, %s: tensor<24x32xf32>, %v: tensor<32x16xf32>):
      %p = gradus.matmul %a, %v transposed : tensor<24x16xf32>, tensor<32x16xf32> -> tensor<24x32xf32>
      %q = arith.addf %p, %s : tensor<24x32xf32>
      %i = gradus.slice %q starts [0, 0] steps [1, 1] : tensor<24x32xf32> -> tensor<24x16xf32>
      %j = gradus.slice %q starts [0, 16] steps [1, 1] : tensor<24x32xf32> -> tensor<24x16xf32>
      %r = arith.mulf %i, %j : tensor<24x16xf32>
      gradus.yield %r, %r : tensor<24x16xf32>, tensor<24x16xf32>
    } -> tensor<24x16xf32>, tensor<2x24x16xf32>
    gradus.return %y : tensor<2x24x16xf32>
  }

  // A body that mixes rows is one item.
  // CHECK-LABEL: gradus.graph @mixed
  // CHECK: plan.launch @{{.*}}(%{{.*}}) items [1]
  gradus.graph @mixed(%h: tensor<24x16xf32>, %x: tensor<2x16xf32>) -> (y: tensor<24x16xf32>) {
    %y = gradus.scan 2 carry(%h : tensor<24x16xf32>) over(%x : tensor<2x16xf32>) body {
    ^bb0(%a: tensor<24x16xf32>, %s: tensor<16xf32>):
      %m = gradus.reduce mean %a axes [0] : tensor<24x16xf32> -> tensor<16xf32>
      %n = arith.addf %m, %s : tensor<16xf32>
      %b = gradus.broadcast %n dims [1] : tensor<16xf32> -> tensor<24x16xf32>
      %r = arith.mulf %a, %b : tensor<24x16xf32>
      gradus.yield %r : tensor<24x16xf32>
    } -> tensor<24x16xf32>
    gradus.return %y : tensor<24x16xf32>
  }

  // Eight rows are two items, and fewer are one.
  // CHECK-LABEL: gradus.graph @few
  // CHECK: plan.launch @{{.*}}(%{{.*}}) items [2]
  // CHECK: plan.launch @{{.*}}(%{{.*}}) items [1]
  gradus.graph @few(%h: tensor<8x16xf32>, %g: tensor<6x16xf32>) -> (y: tensor<8x16xf32>, z: tensor<6x16xf32>) {
    %y = gradus.scan 2 carry(%h : tensor<8x16xf32>) body {
    ^bb0(%a: tensor<8x16xf32>):
      %r = math.tanh %a : tensor<8x16xf32>
      gradus.yield %r : tensor<8x16xf32>
    } -> tensor<8x16xf32>
    %z = gradus.scan 2 carry(%g : tensor<6x16xf32>) body {
    ^bb0(%a: tensor<6x16xf32>):
      %r = math.tanh %a : tensor<6x16xf32>
      gradus.yield %r : tensor<6x16xf32>
    } -> tensor<6x16xf32>
    gradus.return %y, %z : tensor<8x16xf32>, tensor<6x16xf32>
  }

  // A body that looks up rows is written out.
  // CHECK-LABEL: gradus.graph @lookup
  // CHECK-COUNT-3: gradus.gather
  gradus.graph @lookup(%h: tensor<4xf32>, %x: tensor<3x4xi64>, %t: tensor<9xf32>) -> (y: tensor<4xf32>) {
    %y = gradus.scan 3 carry(%h : tensor<4xf32>) over(%x : tensor<3x4xi64>) with(%t : tensor<9xf32>) body {
    ^bb0(%a: tensor<4xf32>, %s: tensor<4xi64>, %v: tensor<9xf32>):
      %g = gradus.gather %v at %s axis 0 : tensor<9xf32>, tensor<4xi64> -> tensor<4xf32>
      %r = arith.addf %a, %g : tensor<4xf32>
      gradus.yield %r : tensor<4xf32>
    } -> tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
}

// The nests are in a loop over the steps, backwards for a reverse scan.
// A matmul is a loop over panels, which asks for what the next one adds.
// CHECK: plan.kernel @[[ROWS]]
// CHECK: plan.loop from
// CHECK: plan.loop from
// CHECK-NEXT: plan.nest parallel [3, 2, 2, 8, 16] reduced [16] {{.*}} with(%[[X:[a-z0-9]+]], %[[X]] : {{.*}} then_input_maps = [#[[THIS]], #[[NEXT]]]
