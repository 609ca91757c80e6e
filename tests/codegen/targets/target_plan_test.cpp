// How large the code of a plan is.

#include "codegen/targets/target_plan.h"

#include <gtest/gtest.h>

using namespace gradus;

TEST(TargetPlan, HasTheCodeThatOneDeviceLoads) {
  TargetPlan cpu;
  CpuCode code;
  code.code.resize(100);
  cpu.code = code;
  EXPECT_EQ(cpu.codeBytes(), 100);
  TargetPlan gpu;
  GpuImages images;
  images.images.resize(2);
  images.images[0].code.resize(30);
  images.images[1].code.resize(70);
  gpu.code = images;
  EXPECT_EQ(gpu.codeBytes(), 70);
}
