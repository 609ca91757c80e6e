#include "runtime/command.h"

#include "test_artifact.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::test;

TEST(Command, HasAKindForPeople) {
  auto artifact = Artifact::fromBytes(TestArtifact().bytes(), "adder");
  const auto *commands =
      (*artifact)->header().plans()->Get(0)->graphs()->Get(0)->commands();
  EXPECT_STREQ(kindOf(*commands->Get(0)), "kernel");
  EXPECT_STREQ(kindOf(*commands->Get(1)), "copy");
}
