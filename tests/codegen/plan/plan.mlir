// RUN: gradus-opt %s | gradus-opt | FileCheck %s

gradus.program @p {
  // The example of plan.nest: a dense layer with bias and relu.
  // CHECK-LABEL: gradus.graph @dense
  // CHECK:         plan.nest parallel [32, 10] reduced [84] ins(%{{.*}}, %{{.*}} : tensor<32x84xf32>, tensor<10x84xf32>) with(%{{.*}} : tensor<10xf32>)
  // CHECK:           plan.yield %{{.*}} : f32
  // CHECK:         -> tensor<32x10xf32>
  gradus.graph @dense(%x: tensor<32x84xf32>, %w: tensor<10x84xf32>, %b: tensor<10xf32>) -> (y: tensor<32x10xf32>) {
    %y = plan.nest parallel [32, 10] reduced [84]
        ins(%x, %w : tensor<32x84xf32>, tensor<10x84xf32>) with(%b : tensor<10xf32>)
        attributes {map_input_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>],
                    then_input_maps = [affine_map<(m, n) -> (n)>],
                    output_maps = [affine_map<(m, n) -> (m, n)>],
                    guards = [unit, unit, unit], combine = [#gradus<reduction sum>]}
        map {
        ^bb0(%a: f32, %c: f32):
          %p = arith.mulf %a, %c : f32
          plan.yield %p : f32
        } then {
        ^bb0(%sum: f32, %bias: f32):
          %z = arith.addf %sum, %bias : f32
          plan.yield %z : f32
        } -> tensor<32x10xf32>
    gradus.return %y : tensor<32x10xf32>
  }

  // CHECK: plan.kernel @flat(%{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>) attributes {inputs = 1 : i64, items = 0 : i64, split = #plan<split flat>} {
  plan.kernel @flat(%x: memref<?xf32>, %y: memref<?xf32>) attributes {inputs = 1 : i64, split = #plan<split flat>, items = 0 : i64} {
    plan.end
  }

  // The example of plan.loop: each item's numbers in two parts.
  // CHECK: plan.kernel @twice
  // CHECK:   plan.loop from #[[FIRST:.*]] to #[[END:.*]] {
  // CHECK:     plan.nest parallel [4, 2, 5]
  plan.kernel @twice(%x: memref<4x10xf32>, %y: memref<4x10xf32>) attributes {inputs = 1 : i64, split = #plan<split rows>, items = 4 : i64} {
    plan.loop from affine_map<(item) -> (0)> to affine_map<(item) -> (2, item)> {
      plan.nest parallel [4, 2, 5] reduced [] with(%x : memref<4x10xf32>) outs(%y : memref<4x10xf32>)
          attributes {map_input_maps = [], then_input_maps = [affine_map<(item, part, i) -> (item, part * 5 + i)>],
                      output_maps = [affine_map<(item, part, i) -> (item, part * 5 + i)>],
                      guards = [unit], combine = []}
          map {} then {
          ^bb0(%a: f32):
            %sum = arith.addf %a, %a : f32
            plan.yield %sum : f32
          }
    }
    plan.end
  }

  // A loop with one position, which is read: each item writes one number.
  // CHECK: plan.kernel @one
  // CHECK:   plan.loop from #{{.*}} to #{{.*}} at %{{.*}} : memref<4x1xi32> {
  plan.kernel @one(%i: memref<4x1xi32>, %y: memref<4x10xf32>) attributes {inputs = 1 : i64, split = #plan<split rows>, items = 4 : i64} {
    plan.loop from affine_map<(item) -> (item, 0)> to affine_map<(item) -> (10)> at %i : memref<4x1xi32> {
      plan.nest parallel [4, 10] reduced [] outs(%y : memref<4x10xf32>)
          attributes {map_input_maps = [], then_input_maps = [],
                      output_maps = [affine_map<(item, i) -> (item, i)>],
                      guards = [], combine = []}
          map {} then {
            %one = arith.constant 1.0 : f32
            plan.yield %one : f32
          }
    }
    plan.end
  }
}
