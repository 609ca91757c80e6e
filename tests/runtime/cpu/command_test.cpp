#include "runtime/cpu/command.h"

#include "test_artifact.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::test;

TEST(CpuCommand, IsPreparedByItsKind) {
  auto artifact = *Artifact::fromBytes(TestArtifact().bytes(), "adder");
  const auto &plan = *artifact->header().plans()->Get(0);
  alignas(64) uint8_t memory[64] = {};
  ThreadPool pool(1);
  CommandContext context{plan, artifact->kernels(plan), nullptr, {}, pool,
                         false};
  context.buffers.assign(plan.buffers()->size(), memory);
  float sum[2] = {7, 8}, *total = reinterpret_cast<float *>(memory);
  context.buffers[kSum] = reinterpret_cast<uint8_t *>(sum);
  total[1] = 5;
  auto copy =
      prepareCommand(context, *plan.graphs()->Get(1)->commands()->Get(0));
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ((*copy)->extraScratch(), 0u);
}
