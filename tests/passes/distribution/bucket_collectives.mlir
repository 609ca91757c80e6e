// RUN: gradus-opt %s --bucket-collectives | FileCheck %s

// Gradients travel together, up to 100 bytes; the last, of at most an eighth, alone.
// CHECK-LABEL: @sizes
gradus.program @sizes attributes {recipe = {distribution = {mode = "data_parallel", bucket_bytes = 100 : i64}}} {
  gradus.graph @train(%x: tensor<12xf32>, %y: tensor<2xf32>) -> (a: tensor<12xf32>, b: tensor<12xf32>, c: tensor<12xf32>, d: tensor<2xf32>) {
    // CHECK: %[[A:.*]] = arith.addf
    %a = arith.addf %x, %x : tensor<12xf32>
    // CHECK-NEXT: %[[B:.*]] = arith.mulf
    %b = arith.mulf %a, %x : tensor<12xf32>
    // CHECK-NEXT: %[[AB:.*]]:2 = gradus.all_reduce %[[A]], %[[B]]
    // CHECK-NEXT: %[[C:.*]] = arith.divf
    %c = arith.divf %b, %x : tensor<12xf32>
    // CHECK-NEXT: %[[CS:.*]] = gradus.all_reduce %[[C]]
    // CHECK-NEXT: %[[D:.*]] = arith.addf
    %d = arith.addf %y, %y : tensor<2xf32>
    // CHECK-NEXT: %[[DS:.*]] = gradus.all_reduce %[[D]]
    %ds = gradus.all_reduce %d : tensor<2xf32> -> tensor<2xf32>
    %cs = gradus.all_reduce %c : tensor<12xf32> -> tensor<12xf32>
    %bs = gradus.all_reduce %b : tensor<12xf32> -> tensor<12xf32>
    %as = gradus.all_reduce %a : tensor<12xf32> -> tensor<12xf32>
    // CHECK-NEXT: gradus.return %[[AB]]#0, %[[AB]]#1, %[[CS]], %[[DS]]
    gradus.return %as, %bs, %cs, %ds : tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<2xf32>
  }
}

// What needs another sum, or is needed before the next can begin, stays apart.
// CHECK-LABEL: @needs
gradus.program @needs attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.graph @train(%x: tensor<2097152xf32>) -> (a: tensor<2097152xf32>, b: tensor<2097152xf32>, c: tensor<2097152xf32>) {
    // CHECK: %[[A:.*]] = gradus.all_reduce %{{.*}} : tensor<2097152xf32>
    %a = gradus.all_reduce %x : tensor<2097152xf32> -> tensor<2097152xf32>
    // CHECK: %[[Y:.*]] = arith.addf %[[A]]
    %y = arith.addf %a, %x : tensor<2097152xf32>
    // CHECK: gradus.all_reduce %[[Y]] : tensor<2097152xf32>
    %b = gradus.all_reduce %y : tensor<2097152xf32> -> tensor<2097152xf32>
    %z = arith.mulf %x, %x : tensor<2097152xf32>
    // CHECK: gradus.all_reduce %{{.*}} : tensor<2097152xf32>
    %c = gradus.all_reduce %z : tensor<2097152xf32> -> tensor<2097152xf32>
    gradus.return %a, %b, %c : tensor<2097152xf32>, tensor<2097152xf32>, tensor<2097152xf32>
  }
}

// A value is shared once.
// CHECK-LABEL: @once
gradus.program @once attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.graph @train(%x: tensor<4xf32>) -> (a: tensor<4xf32>, b: tensor<4xf32>) {
    // CHECK: %[[A:.*]] = gradus.all_reduce %x : tensor<4xf32> -> tensor<4xf32>
    // CHECK-NEXT: gradus.return %[[A]], %[[A]]
    %a = gradus.all_reduce %x : tensor<4xf32> -> tensor<4xf32>
    %b = gradus.all_reduce %x : tensor<4xf32> -> tensor<4xf32>
    gradus.return %a, %b : tensor<4xf32>, tensor<4xf32>
  }
}
