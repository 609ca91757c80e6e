// RUN: gradus-opt %s --join-sums | FileCheck %s
// RUN: gradus-opt %s --join-sums --join-sums | FileCheck %s
// RUN: gradus-opt %s --join-sums --remark-format=emitRemark --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-COUNT-2: [Passed] Joined
// REMARK-NOT: [Passed] Joined

#row = affine_map<(d0) -> (d0)>
#other = affine_map<(d0) -> (3 - d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#ofRow = affine_map<(d0, d1) -> (d0)>
gradus.program @p {
  // A variance by the mean of squares: what reads the mean between both stands
  // behind them.
  // CHECK-LABEL: gradus.graph @variance
  // CHECK: %[[S:.*]]:2 = plan.nest parallel [4] reduced [8] ins(%x : tensor<4x8xf32>) attributes {combine = [#gradus<reduction sum>, #gradus<reduction sum>]
  // CHECK: ^bb0(%[[E:.*]]: f32):
  // CHECK-NEXT: %[[Q:.*]] = arith.mulf %[[E]], %[[E]] : f32
  // CHECK-NEXT: plan.yield %[[E]], %[[Q]] : f32, f32
  // CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
  // CHECK-NEXT: %[[M:.*]] = arith.negf %[[A]] : f32
  // CHECK-NEXT: %[[D:.*]] = arith.subf %[[B]], %[[M]] : f32
  // CHECK-NEXT: plan.yield %[[M]], %[[D]] : f32, f32
  // CHECK: plan.nest parallel [4] reduced [] with(%[[S]]#0 : tensor<4xf32>)
  // CHECK: gradus.return %{{.*}}, %[[S]]#1
  gradus.graph @variance(%x: tensor<4x8xf32>) -> (m: tensor<4xf32>, v: tensor<4xf32>) {
    %0 = plan.nest parallel [4] reduced [8] ins(%x : tensor<4x8xf32>) attributes {combine = [#gradus<reduction sum>], guards = [unit], map_input_maps = [#all], output_maps = [#row], then_input_maps = []} map {
    ^bb0(%e: f32):
      plan.yield %e : f32
    } then {
    ^bb0(%sum: f32):
      %m = arith.negf %sum : f32
      plan.yield %m : f32
    } -> tensor<4xf32>
    %1 = plan.nest parallel [4] reduced [] with(%0 : tensor<4xf32>) attributes {combine = [], guards = [unit], map_input_maps = [], output_maps = [#row], then_input_maps = [#row]} map {
    } then {
    ^bb0(%m: f32):
      %e = math.exp %m : f32
      plan.yield %e : f32
    } -> tensor<4xf32>
    %2 = plan.nest parallel [4] reduced [8] ins(%x : tensor<4x8xf32>) with(%0 : tensor<4xf32>) attributes {combine = [#gradus<reduction sum>], guards = [unit, unit], map_input_maps = [#all], output_maps = [#row], then_input_maps = [#row]} map {
    ^bb0(%e: f32):
      %q = arith.mulf %e, %e : f32
      plan.yield %q : f32
    } then {
    ^bb0(%squares: f32, %m: f32):
      %d = arith.subf %squares, %m : f32
      plan.yield %d : f32
    } -> tensor<4xf32>
    gradus.return %1, %2 : tensor<4xf32>, tensor<4xf32>
  }

  // A sum that asks for a maximum of the same row, a mean of another row, and
  // what is made of a mean first: they read the elements again.
  // CHECK-LABEL: gradus.graph @apart
  // CHECK-COUNT-4: plan.nest parallel [4] reduced [8] ins({{.*}}combine = [#gradus<reduction {{sum|max}}>],
  gradus.graph @apart(%x: tensor<4x8xf32>) -> (s: tensor<4xf32>, d: tensor<4xf32>, v: tensor<4xf32>) {
    %0 = plan.nest parallel [4] reduced [8] ins(%x : tensor<4x8xf32>) attributes {combine = [#gradus<reduction max>], guards = [unit], map_input_maps = [#all], output_maps = [#row], then_input_maps = []} map {
    ^bb0(%e: f32):
      plan.yield %e : f32
    } then {
    ^bb0(%max: f32):
      plan.yield %max : f32
    } -> tensor<4xf32>
    %1 = plan.nest parallel [4] reduced [8] ins(%x, %0 : tensor<4x8xf32>, tensor<4xf32>) attributes {combine = [#gradus<reduction sum>], guards = [unit, unit], map_input_maps = [#all, #ofRow], output_maps = [#row], then_input_maps = []} map {
    ^bb0(%e: f32, %max: f32):
      %s = arith.subf %e, %max : f32
      plan.yield %s : f32
    } then {
    ^bb0(%sum: f32):
      plan.yield %sum : f32
    } -> tensor<4xf32>
    %2 = plan.nest parallel [4] reduced [8] ins(%x : tensor<4x8xf32>) with(%1 : tensor<4xf32>) attributes {combine = [#gradus<reduction sum>], guards = [unit, unit], map_input_maps = [#all], output_maps = [#row], then_input_maps = [#other]} map {
    ^bb0(%e: f32):
      %q = arith.mulf %e, %e : f32
      plan.yield %q : f32
    } then {
    ^bb0(%squares: f32, %m: f32):
      %d = arith.subf %squares, %m : f32
      plan.yield %d : f32
    } -> tensor<4xf32>
    %3 = plan.nest parallel [4] reduced [] with(%2 : tensor<4xf32>) attributes {combine = [], guards = [unit], map_input_maps = [], output_maps = [#other], then_input_maps = [#row]} map {
    } then {
    ^bb0(%m: f32):
      %e = math.exp %m : f32
      plan.yield %e : f32
    } -> tensor<4xf32>
    %4 = plan.nest parallel [4] reduced [8] ins(%x : tensor<4x8xf32>) with(%3 : tensor<4xf32>) attributes {combine = [#gradus<reduction sum>], guards = [unit, unit], map_input_maps = [#all], output_maps = [#row], then_input_maps = [#row]} map {
    ^bb0(%e: f32):
      %c = math.absf %e : f32
      plan.yield %c : f32
    } then {
    ^bb0(%sum: f32, %m: f32):
      %d = arith.subf %sum, %m : f32
      plan.yield %d : f32
    } -> tensor<4xf32>
    gradus.return %1, %2, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  // The first and the last are one before the second, which reads the first,
  // is looked at: it may not join what it reads.
  // CHECK-LABEL: gradus.graph @three
  // CHECK:         %[[ONE:.*]]:2 = plan.nest {{.*}}combine = [#gradus<reduction sum>, #gradus<reduction sum>]
  // CHECK:         plan.nest {{.*}}with(%{{.*}} : tensor<4xf32>)
  gradus.graph @three(%x: tensor<4x8xf32>) -> (a: tensor<4xf32>, c: tensor<4xf32>, b: tensor<4xf32>) {
    %0 = plan.nest parallel [4] reduced [8] ins(%x : tensor<4x8xf32>) attributes {combine = [#gradus<reduction sum>], guards = [unit], map_input_maps = [#all], output_maps = [#row], then_input_maps = []} map {
    ^bb0(%e: f32):
      plan.yield %e : f32
    } then {
    ^bb0(%sum: f32):
      plan.yield %sum : f32
    } -> tensor<4xf32>
    %1 = plan.nest parallel [4] reduced [] with(%0 : tensor<4xf32>) attributes {combine = [], guards = [unit], map_input_maps = [], output_maps = [#row], then_input_maps = [#row]} map {
    } then {
    ^bb0(%m: f32):
      %e = math.exp %m : f32
      plan.yield %e : f32
    } -> tensor<4xf32>
    %2 = plan.nest parallel [4] reduced [8] ins(%x : tensor<4x8xf32>) with(%1 : tensor<4xf32>) attributes {combine = [#gradus<reduction sum>], guards = [unit, unit], map_input_maps = [#all], output_maps = [#row], then_input_maps = [#row]} map {
    ^bb0(%e: f32):
      %q = arith.mulf %e, %e : f32
      plan.yield %q : f32
    } then {
    ^bb0(%squares: f32, %m: f32):
      %d = arith.subf %squares, %m : f32
      plan.yield %d : f32
    } -> tensor<4xf32>
    %3 = plan.nest parallel [4] reduced [8] ins(%x : tensor<4x8xf32>) attributes {combine = [#gradus<reduction sum>], guards = [unit], map_input_maps = [#all], output_maps = [#row], then_input_maps = []} map {
    ^bb0(%e: f32):
      %c = math.absf %e : f32
      plan.yield %c : f32
    } then {
    ^bb0(%sum: f32):
      plan.yield %sum : f32
    } -> tensor<4xf32>
    gradus.return %0, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
