// RUN: gradus-opt %s --pad-rows --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gradus-opt %s --pad-rows | FileCheck %s
// RUN: gradus-opt %s --pad-rows --pad-rows | FileCheck %s
// RUN: gradus-opt %s --pad-rows=alignment=2 | FileCheck %s --check-prefix=AS-IT-IS
// RUN: not gradus-opt %s --pad-rows=alignment=0 2>&1 | FileCheck %s --check-prefix=WRONG
// REMARK-COUNT-2: [Passed] Padded {{.*}}Remark=1031, {{.*}}Remark=1032
// REMARK-NOT: [Passed] Padded
// AS-IT-IS: gradus.graph @logits
// AS-IT-IS-NOT: x1032x
// AS-IT-IS: gradus.graph @stays
// AS-IT-IS-NOT: x1032x
// AS-IT-IS: gradus.return
// WRONG: pad-rows: alignment is 0, expected at least 1

#row = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
gradus.program @p {
  gradus.state @state : tensor<8x1031xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  // A product's result as a nest reads it, seen as rows of samples, and what the
  // nest makes of it for two products more: one of them transposes it.
  // CHECK-LABEL: gradus.graph @logits
  // CHECK: plan.library "matmul"(%x, %w) {{.*}}dims = array<i64: 8, 1031>, {{.*}}padded_dims = array<i64: 8, 1031>, strides = array<i64: 1032, 1>}] {{.*}}-> tensor<8x1032xf32>
  // CHECK: gradus.reshape %{{.*}} : tensor<8x1032xf32> -> tensor<2x4x1032xf32>
  // CHECK: %[[D:.*]] = plan.nest parallel [8, 1031] {{.*}} with(%{{.*}}, %shift : tensor<8x1032xf32>, tensor<8xf32>)
  // CHECK: } -> tensor<8x1032xbf16>
  // CHECK: plan.library "matmul"(%[[D]], {{.*}}layouts [{dims = array<i64: 8, 1031>, {{.*}}, strides = array<i64: 1032, 1>}, {dims = array<i64: 1031, 4>
  // CHECK: plan.library "matmul"(%[[D]], {{.*}}layouts [{dims = array<i64: 1031, 8>, {{.*}}, strides = array<i64: 1, 1032>}, {dims = array<i64: 8, 4>
  gradus.graph @logits(%x: tensor<8x4xf32>, %w: tensor<4x1031xf32>, %wt: tensor<1031x4xbf16>, %b: tensor<8x4xbf16>, %shift: tensor<8xf32>) -> (m: tensor<2x4xf32>, dx: tensor<8x4xf32>, dw: tensor<1031x4xf32>) {
    %0 = plan.library "matmul"(%x, %w) config {} layouts [{dims = array<i64: 8, 4>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 4>, strides = array<i64: 4, 1>}, {dims = array<i64: 4, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 4, 1031>, strides = array<i64: 1031, 1>}, {dims = array<i64: 8, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 1031>, strides = array<i64: 1031, 1>}] : (tensor<8x4xf32>, tensor<4x1031xf32>) -> tensor<8x1031xf32>
    %1 = gradus.reshape %0 : tensor<8x1031xf32> -> tensor<2x4x1031xf32>
    %2 = plan.nest parallel [2, 4] reduced [1031] ins(%1 : tensor<2x4x1031xf32>) attributes {combine = [#gradus<reduction max>], guards = [unit], map_input_maps = [#rows], output_maps = [#row], then_input_maps = []} map {
    ^bb0(%e: f32):
      plan.yield %e : f32
    } then {
    ^bb0(%max: f32):
      plan.yield %max : f32
    } -> tensor<2x4xf32>
    %3 = plan.nest parallel [8, 1031] reduced [] with(%0, %shift : tensor<8x1031xf32>, tensor<8xf32>) attributes {combine = [], guards = [unit, unit], map_input_maps = [], output_maps = [#row], then_input_maps = [#row, affine_map<(d0, d1) -> (d0)>]} map {
    } then {
    ^bb0(%e: f32, %m: f32):
      %d = arith.subf %e, %m : f32
      %n = arith.truncf %d : f32 to bf16
      plan.yield %n : bf16
    } -> tensor<8x1031xbf16>
    %4 = plan.library "matmul"(%3, %wt) config {} layouts [{dims = array<i64: 8, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 1031>, strides = array<i64: 1031, 1>}, {dims = array<i64: 1031, 4>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 1031, 4>, strides = array<i64: 4, 1>}, {dims = array<i64: 8, 4>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 4>, strides = array<i64: 4, 1>}] : (tensor<8x1031xbf16>, tensor<1031x4xbf16>) -> tensor<8x4xf32>
    %5 = plan.library "matmul"(%3, %b) config {} layouts [{dims = array<i64: 1031, 8>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 1031, 8>, strides = array<i64: 1, 1031>}, {dims = array<i64: 8, 4>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 4>, strides = array<i64: 4, 1>}, {dims = array<i64: 1031, 4>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 1031, 4>, strides = array<i64: 4, 1>}] : (tensor<8x1031xbf16>, tensor<8x4xbf16>) -> tensor<1031x4xf32>
    gradus.return %2, %4, %5 : tensor<2x4xf32>, tensor<8x4xf32>, tensor<1031x4xf32>
  }

  // What is given, returned or written to a state keeps its rows, and so do few
  // numbers, what is seen or computed in a line, and rows that no product has.
  // CHECK-LABEL: gradus.graph @stays
  // CHECK-NOT: x1032
  // CHECK-NOT: x32x
  // CHECK: gradus.return
  gradus.graph @stays(%x: tensor<8x4xf32>, %w: tensor<4x1031xf32>, %v: tensor<4x30xf32>) -> (y: tensor<8x1031xf32>, s: tensor<8x30xf32>, l: tensor<8248xf32>, o: tensor<8xf32>, t: tensor<8x1031xf32>) {
    %0 = plan.library "matmul"(%x, %w) config {} layouts [{dims = array<i64: 8, 4>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 4>, strides = array<i64: 4, 1>}, {dims = array<i64: 4, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 4, 1031>, strides = array<i64: 1031, 1>}, {dims = array<i64: 8, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 1031>, strides = array<i64: 1031, 1>}] : (tensor<8x4xf32>, tensor<4x1031xf32>) -> tensor<8x1031xf32>
    %1 = plan.library "matmul"(%x, %v) config {} layouts [{dims = array<i64: 8, 4>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 4>, strides = array<i64: 4, 1>}, {dims = array<i64: 4, 30>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 4, 30>, strides = array<i64: 30, 1>}, {dims = array<i64: 8, 30>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 30>, strides = array<i64: 30, 1>}] : (tensor<8x4xf32>, tensor<4x30xf32>) -> tensor<8x30xf32>
    %2 = plan.nest parallel [8, 30] reduced [] with(%1 : tensor<8x30xf32>) attributes {combine = [], guards = [unit], map_input_maps = [], output_maps = [#row], then_input_maps = [#row]} map {
    } then {
    ^bb0(%e: f32):
      plan.yield %e : f32
    } -> tensor<8x30xf32>
    %3 = plan.library "matmul"(%x, %w) config {} layouts [{dims = array<i64: 8, 4>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 4>, strides = array<i64: 4, 1>}, {dims = array<i64: 4, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 4, 1031>, strides = array<i64: 1031, 1>}, {dims = array<i64: 8, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 1031>, strides = array<i64: 1031, 1>}] : (tensor<8x4xf32>, tensor<4x1031xf32>) -> tensor<8x1031xf32>
    %4 = gradus.reshape %3 : tensor<8x1031xf32> -> tensor<8248xf32>
    %5 = plan.nest parallel [8248] reduced [] with(%4 : tensor<8248xf32>) attributes {combine = [], guards = [unit], map_input_maps = [], output_maps = [affine_map<(d0) -> (d0)>], then_input_maps = [affine_map<(d0) -> (d0)>]} map {
    } then {
    ^bb0(%e: f32):
      plan.yield %e : f32
    } -> tensor<8248xf32>
    %6 = plan.nest parallel [8, 1031] reduced [] with(%x : tensor<8x4xf32>) attributes {combine = [], guards = [unit], map_input_maps = [], output_maps = [#row], then_input_maps = [affine_map<(d0, d1) -> (d0, 0)>]} map {
    } then {
    ^bb0(%e: f32):
      plan.yield %e : f32
    } -> tensor<8x1031xf32>
    %7 = plan.nest parallel [8] reduced [1031] ins(%6 : tensor<8x1031xf32>) attributes {combine = [#gradus<reduction max>], guards = [unit], map_input_maps = [#row], output_maps = [affine_map<(d0) -> (d0)>], then_input_maps = []} map {
    ^bb0(%e: f32):
      plan.yield %e : f32
    } then {
    ^bb0(%max: f32):
      plan.yield %max : f32
    } -> tensor<8xf32>
    %8 = plan.library "matmul"(%x, %w) config {} layouts [{dims = array<i64: 8, 4>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 4>, strides = array<i64: 4, 1>}, {dims = array<i64: 4, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 4, 1031>, strides = array<i64: 1031, 1>}, {dims = array<i64: 8, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 1031>, strides = array<i64: 1031, 1>}] : (tensor<8x4xf32>, tensor<4x1031xf32>) -> tensor<8x1031xf32>
    %9 = plan.nest parallel [8, 1031] reduced [] with(%8 : tensor<8x1031xf32>) attributes {combine = [], guards = [unit], map_input_maps = [], output_maps = [#row], then_input_maps = [#row]} map {
    } then {
    ^bb0(%e: f32):
      %t = math.tanh %e : f32
      plan.yield %t : f32
    } -> tensor<8x1031xf32>
    %10 = plan.library "matmul"(%x, %w) config {} layouts [{dims = array<i64: 8, 4>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 4>, strides = array<i64: 4, 1>}, {dims = array<i64: 4, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 4, 1031>, strides = array<i64: 1031, 1>}, {dims = array<i64: 8, 1031>, inner_axes = array<i64>, inner_blocks = array<i64>, padded_dims = array<i64: 8, 1031>, strides = array<i64: 1031, 1>}] : (tensor<8x4xf32>, tensor<4x1031xf32>) -> tensor<8x1031xf32>
    gradus.write @state, %10 : tensor<8x1031xf32>
    gradus.return %0, %2, %5, %7, %9 : tensor<8x1031xf32>, tensor<8x30xf32>, tensor<8248xf32>, tensor<8xf32>, tensor<8x1031xf32>
  }
}
