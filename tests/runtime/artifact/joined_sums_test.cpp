// Which buffers are one sum. That the command `start` sums them so is in
// tests/runtime/commands/start_test.cpp.

#include "runtime/artifact/joined_sums.h"

#include "runtime/artifact/artifact.h"
#include "tests/runtime/test_artifact.h"

#include <gmock/gmock.h>

using namespace gradus::test;
namespace fb = gradus::artifact;
using testing::ElementsAre;

namespace {

/// "39 f32 from 8": the sums of the last command of the artifact's graph.
std::vector<std::string> sumsOf(TestArtifact &made,
                                std::vector<uint32_t> buffers) {
  fb::StartCommandT start;
  start.buffers = buffers;
  made.add("start", std::move(start));
  fb::FinishCommandT finish;
  finish.buffers = finish.results = buffers;
  made.add("finish", std::move(finish));
  auto artifact = gradus::runtime::Artifact::fromBytes(made.bytes(), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  const fb::Plan &plan = *(*artifact)->header().plans()->Get(0);
  const auto &commands = *plan.graphs()->Get(0)->commands();
  std::vector<std::string> words;
  for (const auto &sum : gradus::runtime::joinedSums(
           plan, *commands.Get(commands.size() - 2)->kind_as_StartCommand()))
    words.push_back(std::to_string(sum.count) + " " +
                    gradus::runtime::nameOf(sum.type) + " from " +
                    std::to_string(sum.buffer));
  return words;
}

} // namespace

TEST(JoinedSums, HaveThePaddingBetweenNeighbours) {
  TestArtifact made;
  uint32_t first = made.addArena(5), next = made.addArena(16),
           last = made.addArena(3);
  EXPECT_THAT(sumsOf(made, {first, next, last}),
              ElementsAre("35 f32 from " + std::to_string(first)));
}

TEST(JoinedSums, AreApartInTheirOwnOrder) {
  TestArtifact made;
  uint32_t first = made.addArena(5);
  made.addArena(16);
  uint32_t far = made.addArena(3), next = made.addArena(4);
  EXPECT_THAT(sumsOf(made, {far, next, first}),
              ElementsAre("20 f32 from " + std::to_string(far),
                          "5 f32 from " + std::to_string(first)));
}

TEST(JoinedSums, AreOfOneType) {
  TestArtifact made;
  uint32_t first = made.addArena(16), next = made.addArena(16);
  made.plan().buffers[next]->type->dtype = fb::DType::bf16;
  EXPECT_THAT(sumsOf(made, {first, next}),
              ElementsAre("16 f32 from " + std::to_string(first),
                          "16 bf16 from " + std::to_string(next)));
}

TEST(GroupsOf, AreThoseOfCommandsThatCombineGroups) {
  TestArtifact made;
  uint32_t number = 0;
  for (uint32_t within : {0, 3}) { // 0: no groups
    fb::StartCommandT start;
    start.buffers = {made.addArena(16)};
    fb::FinishCommandT finish;
    start.number = finish.number = number++;
    finish.buffers = finish.results = start.buffers;
    if (within) {
      start.groups = std::make_unique<fb::RankGroupsT>();
      start.groups->within = within;
    }
    made.add("start", std::move(start));
    made.add("finish", std::move(finish));
  }
  auto artifact = gradus::runtime::Artifact::fromBytes(made.bytes(), "adder");
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  auto groups =
      gradus::runtime::groupsOf(*(*artifact)->header().plans()->Get(0));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0]->within(), 3u);
}
