#include "runtime/artifact/command.h"

#include "tests/runtime/test_artifact.h"

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

TEST(Command, IsNamedWhereItFails) {
  auto artifact = Artifact::fromBytes(TestArtifact().bytes(), "adder");
  const auto &header = (*artifact)->header();
  const auto &train = *header.plans()->Get(0)->graphs()->Get(0);
  EXPECT_EQ(atCommand(invalid("no scratch"), header, train, 2).message(),
            "graph train: command 2 (shift x2): no scratch");
  EXPECT_TRUE(atCommand(Status(), header, train, 2).ok());
}
