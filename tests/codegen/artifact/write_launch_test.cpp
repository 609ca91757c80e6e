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
