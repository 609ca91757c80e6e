// Kernels of all kinds against the definition of their nests.

#include "nest_reference.h"

using namespace gradus::test;

static const char *maps = R"(
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n) -> (m, n)>
#n = affine_map<(m, n) -> (n)>
#i = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
)";

TEST(CpuEmitter, RunsADenseLayer) {
  KernelCheck().run(std::string(maps) + R"(
plan.kernel @dense(%x: memref<5x19xf32>, %w: memref<7x19xf32>, %b: memref<7xf32>, %y: memref<5x7xf32>)
    attributes {inputs = 3 : i64, split = #plan<split serial>, items = 1 : i64} {
  plan.nest parallel [5, 7] reduced [19] ins(%x, %w : memref<5x19xf32>, memref<7x19xf32>)
      with(%b : memref<7xf32>) outs(%y : memref<5x7xf32>)
      attributes {map_input_maps = [#mk, #nk], then_input_maps = [#n], output_maps = [#mn],
                  guards = [unit, unit, unit], combine = [#gradus<reduction sum>]}
      map {
      ^bb0(%a: f32, %c: f32):
        %p = arith.mulf %a, %c : f32
        plan.yield %p : f32
      } then {
      ^bb0(%sum: f32, %bias: f32):
        %z = arith.addf %sum, %bias : f32
        %zero = arith.constant 0.0 : f32
        %r = arith.maximumf %z, %zero : f32
        plan.yield %r : f32
      }
  plan.end
}
)");
}
