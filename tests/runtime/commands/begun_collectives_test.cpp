// What is sent of a plan that is not loaded. Collectives of a loaded one are in
// start_test.cpp.

#include "runtime/commands/begun_collectives.h"

#include "runtime/artifact/artifact.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
namespace fb = gradus::artifact;

TEST(BegunCollectives, HaveNoMemoryWithoutAnArena) {
  gradus::test::TestArtifact made;
  std::vector<uint32_t> buffers = {made.addArena(5), made.addArena(16)};
  for (bool inGroups : {false, true}) {
    fb::StartCommandT start;
    start.buffers = buffers;
    start.number = inGroups;
    if (inGroups) {
      start.groups = std::make_unique<fb::RankGroupsT>();
      start.groups->within = 2;
    }
    made.add("start", std::move(start));
    fb::FinishCommandT finish;
    finish.number = inGroups;
    finish.buffers = finish.results = buffers;
    made.add("finish", std::move(finish));
  }
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const fb::Plan &plan = *(*artifact)->header().plans()->Get(0);
  std::vector<Collective> all;
  const auto &commands = *plan.graphs()->Get(0)->commands();
  for (unsigned i = 0; i < commands.size(); ++i)
    if (const auto *start = commands.Get(i)->kind_as_StartCommand())
      for (const Collective &each : begunCollectives(plan, *start))
        all.push_back(each);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(inWords(all[0]), "all-reduce of 32 f32");
  EXPECT_EQ(all[0].data, nullptr);
  EXPECT_EQ(inWords(all[1]), "sum in groups of 21 f32");
  EXPECT_EQ(all[1].groups->within, 2);
  EXPECT_EQ(all[1].groups->members[1].data, nullptr);
}
