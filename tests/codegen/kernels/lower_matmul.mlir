// RUN: gradus-opt %s --lower-to-kernels=matmuls=true | FileCheck %s
// RUN: gradus-opt %s --lower-to-kernels="matmuls=true threads=4" | FileCheck %s --check-prefix=FOUR
// RUN: gradus-opt %s --lower-to-kernels="matmuls=true threads=64" | FileCheck %s --check-prefix=MANY
// RUN: gradus-opt %s --lower-to-kernels | FileCheck %s --check-prefix=LIBRARY

// LIBRARY-NOT: plan.launch

// Items pack their panels of the right matrix; the left one is read as it is.
// CHECK-LABEL: gradus.graph @forward
// CHECK-NEXT:    plan.launch @[[F:.*]](%x, %w, %b) items [6] {{.*}}label = "matmul_of_pairs+bias"
// CHECK-NEXT:    plan.launch @{{.*}}(%y, %w) items [6] {{.*}}label = "matmul_of_pairs"
// A left matrix that is transposed is packed before, in panels of as many rows
// as a tile has, and the right one with it.
// CHECK-LABEL: gradus.graph @weights
// CHECK:         plan.launch @{{.*}}(%x) items [8] {{.*}} -> tensor<5x64x14xi32>
// CHECK:         plan.launch @{{.*}}(%g) items [8] {{.*}} -> tensor<3x64x32xi32>
// Rows of 4 KiB are copied to longer ones, unless few panels read them.
// CHECK-LABEL: gradus.graph @spread
// CHECK:         %[[X:.*]] = plan.launch @[[S:.*]](%x) items [9] {{.*}}label = "pack"} : (tensor<70x2048xbf16>) -> tensor<70x1040xi32>
// CHECK-NEXT:    plan.launch @{{.*}}(%[[X]], %w)
// CHECK-NEXT:    plan.launch @{{.*}}(%x, %u)
// More threads get more items, each of which packs a panel.
// CHECK-LABEL: gradus.graph @threads
// CHECK:         items [24]
// FOUR-LABEL:  gradus.graph @threads
// FOUR:          items [48]
// MANY-LABEL:  gradus.graph @threads
// MANY:          items [144]
// Of f32 it is gradients of weights, if enough panels read the rows.
// CHECK-LABEL: gradus.graph @single
// CHECK:         %[[L:.*]] = plan.launch @{{.*}}(%x) items [8] {{.*}} -> tensor<5x64x14xf32>
// CHECK:         %[[G:.*]] = plan.launch @{{.*}}(%g) items [8] {{.*}} -> tensor<6x64x32xf32>
// CHECK:         plan.launch @{{.*}}(%[[L]], %[[G]]) {{.*}}label = "matmul"}
// CHECK-COUNT-2: plan.library "matmul"
// An activation and an odd number of terms stay the library's.
// CHECK-LABEL: gradus.graph @others
// CHECK-COUNT-2: plan.library "matmul"
// CHECK-NOT:     plan.library
// An item packs its panel, and the sums of its whole tiles ask for the next
// one, 32 rows of 64 pairs, behind the bias that they read.
// CHECK:       plan.kernel @[[F]](%{{.*}}: memref<70x128xbf16>, %[[RIGHT:.*]]: memref<80x128xbf16>, %[[BIAS:.*]]: memref<80xbf16>,
// CHECK-DAG:     %[[PACKED:.*]] = plan.scratch : memref<64x32xi32>
// CHECK-DAG:     %[[PAIRS:.*]] = plan.pairs %[[RIGHT]]
// CHECK:         plan.nest {{.*}} with(%[[PAIRS]] : memref<80x64xi32>) outs(%[[PACKED]] :
// CHECK:         plan.nest {{.*}} ins(%{{.*}}, %[[PACKED]] : {{.*}}) with(%[[BIAS]], %[[PAIRS]], {{.*}}%[[PAIRS]] :
gradus.program @matmuls {
  gradus.graph @forward(%x: tensor<70x128xbf16>, %y: tensor<70x128xbf16>, %w: tensor<80x128xbf16>, %b: tensor<80xbf16>)
      -> (p: tensor<70x80xbf16>, q: tensor<70x80xf32>) {
    %p = plan.library "matmul"(%x, %w, %b) config {} layouts [
        {dims = array<i64: 70, 128>, strides = array<i64: 128, 1>}, {dims = array<i64: 128, 80>, strides = array<i64: 1, 128>},
        {dims = array<i64: 1, 80>, strides = array<i64: 80, 1>}, {dims = array<i64: 70, 80>, strides = array<i64: 80, 1>}]
        {flops = 1433600 : i64, label = "matmul+bias"} : (tensor<70x128xbf16>, tensor<80x128xbf16>, tensor<80xbf16>) -> tensor<70x80xbf16>
    %q = plan.library "matmul"(%y, %w) config {} layouts [
        {dims = array<i64: 70, 128>, strides = array<i64: 128, 1>}, {dims = array<i64: 128, 80>, strides = array<i64: 1, 128>},
        {dims = array<i64: 70, 80>, strides = array<i64: 80, 1>}]
        {flops = 1433600 : i64, label = "matmul"} : (tensor<70x128xbf16>, tensor<80x128xbf16>) -> tensor<70x80xf32>
    gradus.return %p, %q : tensor<70x80xbf16>, tensor<70x80xf32>
  }
  gradus.graph @weights(%x: tensor<128x70xbf16>, %g: tensor<128x80xbf16>) -> (d: tensor<70x80xf32>) {
    %d = plan.library "matmul"(%x, %g) config {} layouts [
        {dims = array<i64: 70, 128>, strides = array<i64: 1, 70>}, {dims = array<i64: 128, 80>, strides = array<i64: 80, 1>},
        {dims = array<i64: 70, 80>, strides = array<i64: 80, 1>}] : (tensor<128x70xbf16>, tensor<128x80xbf16>) -> tensor<70x80xf32>
    gradus.return %d : tensor<70x80xf32>
  }
  gradus.graph @spread(%x: tensor<70x2048xbf16>, %w: tensor<2048x192xbf16>, %u: tensor<2048x160xbf16>)
      -> (p: tensor<70x192xf32>, q: tensor<70x160xf32>) {
    %p = plan.library "matmul"(%x, %w) config {} layouts [
        {dims = array<i64: 70, 2048>}, {dims = array<i64: 2048, 192>}, {dims = array<i64: 70, 192>}]
        : (tensor<70x2048xbf16>, tensor<2048x192xbf16>) -> tensor<70x192xf32>
    %q = plan.library "matmul"(%x, %u) config {} layouts [
        {dims = array<i64: 70, 2048>}, {dims = array<i64: 2048, 160>}, {dims = array<i64: 70, 160>}]
        : (tensor<70x2048xbf16>, tensor<2048x160xbf16>) -> tensor<70x160xf32>
    gradus.return %p, %q : tensor<70x192xf32>, tensor<70x160xf32>
  }
  gradus.graph @threads(%x: tensor<1024x128xbf16>, %w: tensor<768x128xbf16>) -> (p: tensor<1024x768xf32>) {
    %p = plan.library "matmul"(%x, %w) config {} layouts [
        {dims = array<i64: 1024, 128>}, {dims = array<i64: 128, 768>, strides = array<i64: 1, 128>}, {dims = array<i64: 1024, 768>}]
        : (tensor<1024x128xbf16>, tensor<768x128xbf16>) -> tensor<1024x768xf32>
    gradus.return %p : tensor<1024x768xf32>
  }
  gradus.graph @single(%x: tensor<64x70xf32>, %g: tensor<64x192xf32>, %h: tensor<64x191xf32>, %y: tensor<70x64xf32>)
      -> (d: tensor<70x192xf32>, e: tensor<70x191xf32>, p: tensor<70x192xf32>) {
    %d = plan.library "matmul"(%x, %g) config {} layouts [
        {dims = array<i64: 70, 64>, strides = array<i64: 1, 70>}, {dims = array<i64: 64, 192>}, {dims = array<i64: 70, 192>}]
        : (tensor<64x70xf32>, tensor<64x192xf32>) -> tensor<70x192xf32>
    %e = plan.library "matmul"(%x, %h) config {} layouts [
        {dims = array<i64: 70, 64>, strides = array<i64: 1, 70>}, {dims = array<i64: 64, 191>}, {dims = array<i64: 70, 191>}]
        : (tensor<64x70xf32>, tensor<64x191xf32>) -> tensor<70x191xf32>
    %p = plan.library "matmul"(%y, %g) config {} layouts [
        {dims = array<i64: 70, 64>}, {dims = array<i64: 64, 192>}, {dims = array<i64: 70, 192>}]
        : (tensor<70x64xf32>, tensor<64x192xf32>) -> tensor<70x192xf32>
    gradus.return %d, %e, %p : tensor<70x192xf32>, tensor<70x191xf32>, tensor<70x192xf32>
  }
  gradus.graph @others(%x: tensor<70x128xbf16>, %w: tensor<128x80xbf16>, %u: tensor<70x129xbf16>, %v: tensor<129x80xbf16>,
      %l: tensor<70x6400xbf16>, %r: tensor<6400x80xbf16>) -> (p: tensor<70x80xbf16>, q: tensor<70x80xf32>, s: tensor<70x80xbf16>) {
    %p = plan.library "matmul"(%x, %w) config {activation = "relu"} layouts [
        {dims = array<i64: 70, 128>}, {dims = array<i64: 128, 80>}, {dims = array<i64: 70, 80>}]
        : (tensor<70x128xbf16>, tensor<128x80xbf16>) -> tensor<70x80xbf16>
    %q = plan.library "matmul"(%u, %v) config {} layouts [
        {dims = array<i64: 70, 129>}, {dims = array<i64: 129, 80>}, {dims = array<i64: 70, 80>}]
        : (tensor<70x129xbf16>, tensor<129x80xbf16>) -> tensor<70x80xf32>
    %s = plan.library "matmul"(%l, %r) config {} layouts [
        {dims = array<i64: 70, 6400>}, {dims = array<i64: 6400, 80>}, {dims = array<i64: 70, 80>}]
        : (tensor<70x6400xbf16>, tensor<6400x80xbf16>) -> tensor<70x80xbf16>
    gradus.return %p, %q, %s : tensor<70x80xbf16>, tensor<70x80xf32>, tensor<70x80xbf16>
  }
}
