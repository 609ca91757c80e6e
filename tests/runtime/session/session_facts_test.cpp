// A session tells in plain values what its artifact says.

#include "runtime/session/session_facts.h"

#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

using namespace gradus;
using namespace gradus::runtime;

namespace {

std::shared_ptr<const Artifact> open(const gradus::test::TestArtifact &made) {
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.status().message();
  return *artifact;
}

} // namespace

TEST(SessionFacts, TellOfGraphsInTheOrderOfTheHeader) {
  gradus::test::TestArtifact made;
  std::swap(made.plan().graphs[0], made.plan().graphs[1]);
  auto artifact = open(made);
  const artifact::Header &header = artifact->header();
  auto plans = graphPlansOf(header, *header.plans()->Get(0));
  ASSERT_EQ(plans.size(), 2u);
  GraphInfo train = infoOf(*header.graphs()->Get(0), *plans[0]);
  EXPECT_EQ(train.name, "train");
  EXPECT_EQ(train.inputs[0].bytes, 32u);
  EXPECT_EQ(train.commands[0].name, "total += x");
}

TEST(SessionFacts, TellWhichStatesAreSaved) {
  gradus::test::TestArtifact made;
  made.addTurns();
  auto states = stateInfosOf(open(made)->header());
  std::vector<std::string> saved;
  for (const StateInfo &state : states)
    if (isSaved(state))
      saved.push_back(state.name);
  EXPECT_EQ(saved, (std::vector<std::string>{"total", "scale", "step"}));
  EXPECT_TRUE(isPlace(states[3]));
  states[0].role = artifact::Role::copy;
  EXPECT_FALSE(isSaved(states[0]));
}

TEST(SessionFacts, TellOfStates) {
  auto states = stateInfosOf(open(gradus::test::TestArtifact())->header());
  ASSERT_EQ(findName(states, "total"), 0);
  EXPECT_EQ(findName(states, "none"), -1);
  EXPECT_EQ(states[0].bytes, 32u);
  EXPECT_FALSE(isCopy(states[0]));
  EXPECT_FALSE(states[0].isNumber());
}
