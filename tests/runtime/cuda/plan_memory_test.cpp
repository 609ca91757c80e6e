// The memory of a plan on a GPU: where its blocks are, and what is in them.

#include "runtime/cuda/plan_memory.h"

#include "adder_on_card.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using gradus::artifact::Region;

using PlanMemoryTest = AdderOnCard;

TEST_F(PlanMemoryTest, IsABlockForEachPurposeThatNeedsBytes) {
  StepExtras extras;
  extras.tableBytes = 80;
  extras.onesBytes = 16;
  auto memory = PlanMemory::allocate(*card_, *artifact_, plan(), extras, 32);
  ASSERT_TRUE(memory.ok()) << memory.status();
  StepMemory addresses = memory->addresses();
  EXPECT_NE(addresses.tables, 0u);
  EXPECT_NE(addresses.ones, 0u);
  EXPECT_EQ(addresses.scratch, 0u);
  EXPECT_EQ(addresses.product, 0u);
  EXPECT_EQ(memory->startOf(Region::state), addresses.state);
  EXPECT_EQ(memory->startOf(Region::arena), addresses.arena);
  EXPECT_EQ(memory->startOf(Region::constants), addresses.constants);
  EXPECT_EQ(memory->extraBytes(), 80u + 16u + 32u);
}

TEST_F(PlanMemoryTest, BeginsAsZerosAndConstants) {
  auto memory = PlanMemory::allocate(*card_, *artifact_, plan(), {}, 0);
  ASSERT_TRUE(memory.ok()) << memory.status();
  Status cleared = memory->clear(*card_, *artifact_, plan(), stream_.get());
  ASSERT_TRUE(cleared.ok()) << cleared;
  EXPECT_EQ(numbersAt(memory->startOf(Region::state), 2),
            (std::vector<float>{0, 0}));
  EXPECT_EQ(numbersAt(memory->startOf(Region::constants), 2),
            (std::vector<float>{10, 11}));
}

TEST_F(PlanMemoryTest, IsNoneWhereItDoesNotFit) {
  StepExtras extras;
  extras.scratchBytes = size_t(1) << 50;
  auto memory = PlanMemory::allocate(*card_, *artifact_, plan(), extras, 0);
  EXPECT_NE(memory.status().message().find("of scratch"), std::string::npos)
      << memory.status();
}
