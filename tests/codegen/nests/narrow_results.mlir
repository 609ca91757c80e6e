// RUN: gradus-opt %s --narrow-results | FileCheck %s
// RUN: gradus-opt %s --narrow-results --narrow-results | FileCheck %s
// RUN: gradus-opt %s --narrow-results --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-COUNT-2: [Passed] Narrowed
// REMARK-NOT: [Passed] Narrowed

#point = affine_map<(d0) -> (d0)>
#turned = affine_map<(d0) -> (7 - d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
gradus.program @p {
  // A masked gradient is there in 16 bits; who reads the same numbers as f32
  // widens them: in a sum, and where they are rounded again.
  // CHECK-LABEL: gradus.graph @both
  // CHECK: %[[N:.*]] = plan.nest parallel [8, 4]
  // CHECK: %[[S:.*]] = arith.select
  // CHECK-NEXT: plan.yield %[[S]] : bf16
  // CHECK-NEXT: } -> tensor<8x4xbf16>
  // CHECK: plan.nest parallel [8] reduced [4] ins(%[[N]] : tensor<8x4xbf16>)
  // CHECK: ^bb0(%[[E:.*]]: bf16):
  // CHECK-NEXT: %[[W:.*]] = arith.extf %[[E]] : bf16 to f32
  // CHECK-NEXT: plan.yield %[[W]] : f32
  // CHECK: plan.nest parallel [8, 4] {{.*}}with(%[[N]] : tensor<8x4xbf16>)
  // CHECK: ^bb0(%[[R:.*]]: bf16):
  // CHECK-NEXT: plan.yield %[[R]] : bf16
  gradus.graph @both(%g: tensor<8x4xbf16>, %m: tensor<8x4xi1>) -> (n: tensor<8x4xbf16>, s: tensor<8xf32>, r: tensor<8x4xbf16>) {
    %0:2 = plan.nest parallel [8, 4] reduced [] with(%m, %g : tensor<8x4xi1>, tensor<8x4xbf16>) attributes {combine = [], guards = [unit, unit], map_input_maps = [], output_maps = [#all, #all], then_input_maps = [#all, #all]} map {
    } then {
    ^bb0(%is: i1, %e: bf16):
      %zero = arith.constant 0.0 : bf16
      %n = arith.select %is, %e, %zero : bf16
      %w = arith.extf %n : bf16 to f32
      plan.yield %n, %w : bf16, f32
    } -> tensor<8x4xbf16>, tensor<8x4xf32>
    %1 = plan.nest parallel [8] reduced [4] ins(%0#1 : tensor<8x4xf32>) attributes {combine = [#gradus<reduction sum>], guards = [unit], map_input_maps = [#all], output_maps = [#point], then_input_maps = []} map {
    ^bb0(%e: f32):
      plan.yield %e : f32
    } then {
    ^bb0(%sum: f32):
      plan.yield %sum : f32
    } -> tensor<8xf32>
    %2 = plan.nest parallel [8, 4] reduced [] with(%0#1 : tensor<8x4xf32>) attributes {combine = [], guards = [unit], map_input_maps = [], output_maps = [#all], then_input_maps = [affine_map<(d0, d1) -> (7 - d0, d1)>]} map {
    } then {
    ^bb0(%e: f32):
      %r = arith.truncf %e : f32 to bf16
      plan.yield %r : bf16
    } -> tensor<8x4xbf16>
    gradus.return %0#0, %1, %2 : tensor<8x4xbf16>, tensor<8xf32>, tensor<8x4xbf16>
  }

  // Wide numbers alone are stored narrow.
  // CHECK-LABEL: gradus.graph @alone
  // CHECK: %[[N:.*]] = arith.negf %{{.*}} : f16
  // CHECK-NEXT: plan.yield %[[N]] : f16
  // CHECK-NEXT: } -> tensor<8xf16>
  // CHECK: arith.extf %{{.*}} : f16 to f32
  // CHECK: math.exp
  gradus.graph @alone(%x: tensor<8xf16>) -> (y: tensor<8xf32>) {
    %0 = plan.nest parallel [8] reduced [] with(%x : tensor<8xf16>) attributes {combine = [], guards = [unit], map_input_maps = [], output_maps = [#point], then_input_maps = [#point]} map {
    } then {
    ^bb0(%e: f16):
      %n = arith.negf %e : f16
      %w = arith.extf %n : f16 to f32
      plan.yield %w : f32
    } -> tensor<8xf32>
    %1 = plan.nest parallel [8] reduced [] with(%0 : tensor<8xf32>) attributes {combine = [], guards = [unit], map_input_maps = [], output_maps = [#turned], then_input_maps = [#point]} map {
    } then {
    ^bb0(%e: f32):
      %r = math.exp %e : f32
      plan.yield %r : f32
    } -> tensor<8xf32>
    gradus.return %1 : tensor<8xf32>
  }

  // What a graph gives, and what a product of our own reads, is as it was.
  // CHECK-LABEL: gradus.graph @stays
  // CHECK: } -> tensor<4x8xf32>, tensor<4x8xf32>
  // CHECK: plan.nest parallel [4, 4] reduced [8] ins({{.*}} : tensor<4x8xf32>, tensor<4x8xf32>)
  gradus.graph @stays(%x: tensor<4x8xbf16>, %b: tensor<4x8xf32>) -> (y: tensor<4x8xf32>, c: tensor<4x4xf32>) {
    %0:2 = plan.nest parallel [4, 8] reduced [] with(%x : tensor<4x8xbf16>) attributes {combine = [], guards = [unit], map_input_maps = [], output_maps = [#all, #all], then_input_maps = [#all]} map {
    } then {
    ^bb0(%e: bf16):
      %n = arith.negf %e : bf16
      %w = arith.extf %n : bf16 to f32
      %v = arith.extf %e : bf16 to f32
      plan.yield %w, %v : f32, f32
    } -> tensor<4x8xf32>, tensor<4x8xf32>
    %1 = plan.nest parallel [4, 4] reduced [8] ins(%0#1, %b : tensor<4x8xf32>, tensor<4x8xf32>) attributes {combine = [#gradus<reduction sum>], guards = [unit, unit], map_input_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], output_maps = [#all], then_input_maps = []} map {
    ^bb0(%e: f32, %f: f32):
      %p = arith.mulf %e, %f : f32
      plan.yield %p : f32
    } then {
    ^bb0(%sum: f32):
      plan.yield %sum : f32
    } -> tensor<4x4xf32>
    gradus.return %0#0, %1 : tensor<4x8xf32>, tensor<4x4xf32>
  }
}
