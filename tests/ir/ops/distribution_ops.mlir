// RUN: gradus-opt %s | FileCheck %s
// RUN: gradus-opt %s | gradus-opt | FileCheck %s
// RUN: gradus-opt %s --mlir-print-op-generic | gradus-opt | FileCheck %s
// RUN: gradus-opt %s --canonicalize --cse | FileCheck %s --check-prefix=CLEAN

gradus.program @p {
  // A bucket of values of several types, along an axis of ranks.
  // CHECK-LABEL: @sums
  gradus.graph @sums(%a: tensor<4xf32>, %b: tensor<f16>, %n: tensor<i64>) -> (x: tensor<4xf32>, y: tensor<f16>, z: tensor<i64>) {
    // CHECK-NEXT: %[[S:.*]]:2 = gradus.all_reduce %a, %b : tensor<4xf32>, tensor<f16> -> tensor<4xf32>, tensor<f16>
    %x, %y = gradus.all_reduce %a, %b : tensor<4xf32>, tensor<f16> -> tensor<4xf32>, tensor<f16>
    // CHECK-NEXT: gradus.all_reduce %n along "rows" : tensor<i64> -> tensor<i64>
    %z = gradus.all_reduce %n along "rows" : tensor<i64> -> tensor<i64>
    gradus.return %x, %y, %z : tensor<4xf32>, tensor<f16>, tensor<i64>
  }

  // Groups of ranks, which combine what they have.
  // CHECK-LABEL: @groups
  gradus.graph @groups(%a: tensor<4xf32>, %b: tensor<2xf32>) -> (x: tensor<4xf32>, y: tensor<2xf32>) {
    // CHECK-NEXT: gradus.all_reduce %a, %b {groups = #gradus.groups<within 2 mean across adasum epsilon 0.000000e+00 : f64>} : tensor<4xf32>, tensor<2xf32> -> tensor<4xf32>, tensor<2xf32>
    // CLEAN-LABEL: @groups
    // CLEAN: gradus.all_reduce %b {groups = #gradus.groups<within 0 sum across nothing epsilon {{.*}} : f64>} : tensor<2xf32> -> tensor<2xf32>
    %x, %unused = gradus.all_reduce %a, %b {groups = #gradus.groups<within 2 mean across adasum epsilon 0.0 : f64>} : tensor<4xf32>, tensor<2xf32> -> tensor<4xf32>, tensor<2xf32>
    %other, %y = gradus.all_reduce %a, %b {groups = #gradus.groups<within 0 sum across nothing epsilon 1.0e-12 : f64>} : tensor<4xf32>, tensor<2xf32> -> tensor<4xf32>, tensor<2xf32>
    gradus.return %x, %y : tensor<4xf32>, tensor<2xf32>
  }

  // The halves of a sum, with what a rank does to its part between them.
  // CHECK-LABEL: @halves
  gradus.graph @halves(%a: tensor<10x20xf32>) -> (x: tensor<10x20xf32>) {
    // CHECK-NEXT: gradus.all_reduce %a {parts = #gradus.parts<scatter ranks 2 unit 16>} : tensor<10x20xf32> -> tensor<10x20xf32>
    // CHECK-NEXT: gradus.part %{{.*}} ranks 2 : tensor<10x20xf32> -> tensor<112xf32>
    // CHECK-NEXT: gradus.whole %{{.*}} ranks 2 : tensor<112xf32> -> tensor<10x20xf32>
    // CHECK-NEXT: gradus.all_reduce %{{.*}} {parts = #gradus.parts<gather ranks 2 unit 16>}
    %sums = gradus.all_reduce %a {parts = #gradus.parts<scatter ranks 2 unit 16>} : tensor<10x20xf32> -> tensor<10x20xf32>
    %part = gradus.part %sums ranks 2 : tensor<10x20xf32> -> tensor<112xf32>
    %alone = gradus.whole %part ranks 2 : tensor<112xf32> -> tensor<10x20xf32>
    %x = gradus.all_reduce %alone {parts = #gradus.parts<gather ranks 2 unit 16>} : tensor<10x20xf32> -> tensor<10x20xf32>
    gradus.return %x : tensor<10x20xf32>
  }

  // An operand of one vector has a part in what the others become, used or not.
  // CLEAN-LABEL: @vector
  // CLEAN-NEXT: %[[ALL:.*]]:2 = gradus.all_reduce %a, %b {groups = #gradus.groups<within 1 mean across adasum_of_all epsilon 0.000000e+00 : f64>}
  // CLEAN-NEXT: gradus.return %[[ALL]]#0 : tensor<4xf32>
  gradus.graph @vector(%a: tensor<4xf32>, %b: tensor<2xf32>) -> (x: tensor<4xf32>) {
    %x, %unused = gradus.all_reduce %a, %b {groups = #gradus.groups<within 1 mean across adasum_of_all epsilon 0.0 : f64>} : tensor<4xf32>, tensor<2xf32> -> tensor<4xf32>, tensor<2xf32>
    %c, %d = gradus.all_reduce %a, %b {groups = #gradus.groups<within 1 mean across adasum_of_all epsilon 0.0 : f64>} : tensor<4xf32>, tensor<2xf32> -> tensor<4xf32>, tensor<2xf32>
    gradus.return %x : tensor<4xf32>
  }

  // Each rank has a row of its own of any type, and gets those of all.
  // CHECK-LABEL: @gather
  gradus.graph @gather(%a: tensor<2x16xi32>) -> (x: tensor<2x16xi32>) {
    // CHECK-NEXT: gradus.all_reduce %a {groups = #gradus.groups<within 1 sum across gather epsilon 0.000000e+00 : f64>} : tensor<2x16xi32> -> tensor<2x16xi32>
    %x = gradus.all_reduce %a {groups = #gradus.groups<within 1 sum across gather epsilon 0.0 : f64>} : tensor<2x16xi32> -> tensor<2x16xi32>
    gradus.return %x : tensor<2x16xi32>
  }

  // CHECK-LABEL: @select
  gradus.graph @select(%x: tensor<8xf64>, %t: tensor<f64>) -> (i: tensor<2xi32>, y: tensor<2xf64>, j: tensor<3xi32>, z: tensor<3xf64>) {
    // CHECK-NEXT: gradus.select_largest %x : tensor<8xf64> -> tensor<2xi32>, tensor<2xf64>
    %i, %y = gradus.select_largest %x : tensor<8xf64> -> tensor<2xi32>, tensor<2xf64>
    // CHECK-NEXT: gradus.select_largest %x from %t : tensor<8xf64> from tensor<f64> -> tensor<3xi32>, tensor<3xf64>
    %j, %z = gradus.select_largest %x from %t : tensor<8xf64> from tensor<f64> -> tensor<3xi32>, tensor<3xf64>
    gradus.return %i, %y, %j, %z : tensor<2xi32>, tensor<2xf64>, tensor<3xi32>, tensor<3xf64>
  }

  // All ranks leave out what nothing uses, and what only that needs. Two sums of
  // one value stay two messages, in their order.
  // CLEAN-LABEL: @unused
  // CLEAN-NEXT: %[[X:.*]] = gradus.all_reduce %a along "rows" {of = ["a"]} : tensor<4xf32> -> tensor<4xf32>
  // CLEAN-NEXT: %[[Y:.*]] = gradus.all_reduce %a along "rows" : tensor<4xf32> -> tensor<4xf32>
  // CLEAN-NEXT: gradus.return %[[X]], %[[Y]]
  gradus.graph @unused(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (x: tensor<4xf32>, y: tensor<4xf32>) {
    %c = arith.addf %a, %b : tensor<4xf32>
    %unused, %x = gradus.all_reduce %c, %a along "rows" {of = ["c", "a"]} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>
    %y = gradus.all_reduce %a along "rows" : tensor<4xf32> -> tensor<4xf32>
    %d = gradus.all_reduce %b : tensor<4xf32> -> tensor<4xf32>
    %e = gradus.all_reduce %d : tensor<4xf32> -> tensor<4xf32>
    gradus.return %x, %y : tensor<4xf32>, tensor<4xf32>
  }
}
