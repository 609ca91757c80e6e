#include "written_graph.h"

#include "runtime/artifact_generated.h"

using namespace gradus;
namespace fb = gradus::artifact;

static const char *const launches = R"(
gradus.program @p {
  plan.kernel @other(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64, split = #plan<split rows>, items = 4 : i64} {
    plan.end
  }
  plan.kernel @twice(%x: memref<?xf32>, %y: memref<?xf32>) attributes {inputs = 1 : i64, split = #plan<split flat>, items = 0 : i64} {
    plan.end
  }
  gradus.graph @train(%x: tensor<4xf32>, %y: tensor<8xf32>) -> (a: tensor<4xf32>, b: tensor<8xf32>) {
    %a, %b = plan.launch @twice(%x, %y) items [4, 8] grain 2 inplace [-1, -1] {flops = 12 : i64, label = "twice x2"} : (tensor<4xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>)
    gradus.return %a, %b : tensor<4xf32>, tensor<8xf32>
  }
})";

TEST(WriteLaunch, GivesEachSegmentItsOperandAndItsResult) {
  WrittenGraph written(launches);
  const fb::Command &command = written.command(0);
  EXPECT_EQ(command.name()->str(), "twice x2");
  EXPECT_EQ(command.flops(), 12u);
  // No nest reads the operands.
  EXPECT_EQ(command.bytes(), 4 * (4 + 8u));
  const fb::KernelCommand *kernel = command.kind_as_KernelCommand();
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->kernel(), 1u);
  EXPECT_EQ(kernel->grain(), 2);
  ASSERT_EQ(kernel->segments()->size(), 2u);
  for (unsigned s = 0; s < 2; ++s) {
    const fb::Segment &segment = *kernel->segments()->Get(s);
    EXPECT_EQ(segment.items(), s ? 8 : 4);
    ASSERT_EQ(segment.buffers()->size(), 2u);
    EXPECT_EQ(segment.buffers()->Get(0), 2 * s);
    EXPECT_EQ(segment.buffers()->Get(1), 2 * s + 1);
  }
}

/// A dense layer of 4 samples; `mark` says that its kernel multiplies matrices.
static std::string denseLayer(const std::string &mark) {
  return R"(
gradus.program @p {
  plan.kernel @dense(%x: memref<4x3xf32>, %w: memref<3x8xf32>, %y: memref<4x8xf32>) attributes {inputs = 2 : i64, split = #plan<split rows>, items = 4 : i64)" +
         mark + R"(} {
    plan.nest parallel [4, 8] reduced [3] ins(%x, %w : memref<4x3xf32>, memref<3x8xf32>) outs(%y : memref<4x8xf32>)
        attributes {map_input_maps = [affine_map<(n, j, k) -> (n, k)>, affine_map<(n, j, k) -> (k, j)>], then_input_maps = [],
                    output_maps = [affine_map<(n, j) -> (n, j)>], guards = [unit, unit], combine = [#gradus<reduction sum>]}
        map {
        ^bb0(%a: f32, %b: f32):
          %p = arith.mulf %a, %b : f32
          plan.yield %p : f32
        } then {
        ^bb0(%sum: f32):
          plan.yield %sum : f32
        }
    plan.end
  }
  gradus.graph @train(%x: tensor<4x3xf32>, %w: tensor<3x8xf32>) -> (y: tensor<4x8xf32>) {
    %y = plan.launch @dense(%x, %w) items [4] grain 1 inplace [-1] : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    gradus.return %y : tensor<4x8xf32>
  }
})";
}

TEST(WriteLaunch, SaysWhatIsMultiplied) {
  WrittenGraph marked(denseLayer(", multiplies").c_str());
  const fb::Products *products =
      marked.command(0).kind_as_KernelCommand()->products();
  ASSERT_TRUE(products);
  EXPECT_EQ(products->flops(), 2u * 4 * 8 * 3);
  EXPECT_EQ(products->pair_flops(), 0u);
  EXPECT_EQ(products->operations(), 4u * 8);
  WrittenGraph plain(denseLayer("").c_str());
  EXPECT_FALSE(plain.command(0).kind_as_KernelCommand()->products());
}
