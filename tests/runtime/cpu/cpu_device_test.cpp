#include "runtime/cpu/cpu_device.h"

#include "huge_pages.h"
#include "runtime/memory.h"
#include "test_artifact.h"
#include "tests/runtime/collectives/recorded_collectives.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace gradus::runtime;
using namespace gradus::test;
using gradus::artifact::Region;
namespace artifact = gradus::artifact;

namespace {

struct Loaded {
  Loaded(const TestArtifact &made, int threads,
         std::shared_ptr<Collectives> collectives = nullptr)
      : artifact(*Artifact::fromBytes(made.bytes(), "adder")) {
    auto loaded = CpuDevice().load(
        *artifact, *artifact->header().plans()->Get(0),
        {.threads = threads, .collectives = std::move(collectives)});
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    plan = *std::move(loaded);
  }
  float *input(size_t graph) const {
    return reinterpret_cast<float *>(plan->inputs(graph)[0].data);
  }
  const float *output(size_t graph, size_t port) const {
    return reinterpret_cast<const float *>(plan->outputs(graph)[port].data);
  }

  std::shared_ptr<const Artifact> artifact;
  std::unique_ptr<DevicePlan> plan;
};

} // namespace

TEST(CpuDevice, GivesItsArenaAsPorts) {
  Loaded loaded(TestArtifact(), 2);
  HostPort x = loaded.plan->inputs(0)[0], sum = loaded.plan->outputs(0)[0];
  EXPECT_EQ(x.bytes, 32u);
  EXPECT_EQ(x.data, loaded.plan->memory(Region::arena));
  EXPECT_EQ(sum.data - x.data, 64);
  EXPECT_EQ(loaded.plan->threads(), 2);
  EXPECT_EQ(loaded.plan->name(), "2 threads");
}

TEST(CpuDevice, RunsCommandsInOrder) {
  Loaded loaded(TestArtifact(), 1);
  loaded.input(0)[2] = 5;
  std::vector<int64_t> times(4);
  ASSERT_TRUE(loaded.plan->runTimed(0, times).ok());
  EXPECT_EQ(loaded.output(0, 0)[2], 5);
  EXPECT_EQ(loaded.output(0, 1)[2], 17);
  for (int64_t time : times)
    EXPECT_GT(time, 0);
}

TEST(CpuDevice, ShowsWhatIsBetweenCommands) {
  Loaded loaded(TestArtifact(), 1);
  loaded.input(0)[0] = 5;
  std::vector<float> totals;
  auto look = [&](size_t command) {
    EXPECT_EQ(command, totals.size());
    uint8_t bytes[sizeof(float)];
    Status status = loaded.plan->read(Region::state, 0, bytes);
    totals.emplace_back();
    std::memcpy(&totals.back(), bytes, sizeof(bytes));
    return status;
  };
  ASSERT_TRUE(loaded.plan->runStepwise(0, look).ok());
  EXPECT_EQ(totals, (std::vector<float>{0, 5, 5, 5, 5}));
  auto refuse = [](size_t command) {
    return command == 1 ? invalid("enough") : Status();
  };
  EXPECT_EQ(loaded.plan->runStepwise(0, refuse).message(), "enough");
}

// Another rank may still add to the memory.
TEST(CpuDevice, KeepsTheMemoryOfSumsThatAStepLeft) {
  TestArtifact made;
  artifact::StartCommandT start;
  artifact::FinishCommandT finish;
  start.buffers = finish.buffers = finish.results = {kX};
  made.add("start", std::move(start));
  made.add("finish", std::move(finish));
  auto collectives = std::make_shared<RecordedCollectives>();
  Loaded loaded(made, 1, collectives);
  ASSERT_TRUE(loaded.plan->run(0).ok());
  auto refuse = [](size_t command) {
    return command == 5 ? invalid("enough") : Status();
  };
  EXPECT_EQ(loaded.plan->runStepwise(0, refuse).message(), "enough");
  EXPECT_EQ(collectives->failure.message(), "enough") << "the others hear it";
  EXPECT_FALSE(loaded.plan->run(0).ok());
  loaded.plan.reset();
  ASSERT_EQ(collectives->kept.size(), 1u);
  EXPECT_EQ(
      static_cast<const MemoryBlock *>(collectives->kept[0].get())->data(),
      collectives->begun[0].data);
}

TEST(CpuDevice, StartsWithZeroState) {
  Loaded loaded(TestArtifact(), 1);
  std::vector<uint8_t> state(192, 1);
  ASSERT_TRUE(loaded.plan->read(Region::state, 0, state).ok());
  EXPECT_EQ(state, std::vector<uint8_t>(192));
}

TEST(CpuDevice, IsReadWhereItWasWritten) {
  Loaded loaded(TestArtifact(), 1);
  const uint8_t written[] = {1, 2, 3};
  for (Region region : {Region::state, Region::arena}) {
    uint8_t found[5] = {};
    ASSERT_TRUE(loaded.plan->write(region, 65, written).ok());
    ASSERT_TRUE(loaded.plan->read(region, 64, found).ok());
    EXPECT_EQ(std::vector<uint8_t>(found, found + 5),
              (std::vector<uint8_t>{0, 1, 2, 3, 0}));
    EXPECT_EQ(loaded.plan->memory(region)[66], 2);
  }
}

TEST(CpuDevice, RunsAPlanWithoutCommandsOrMemory) {
  TestArtifact made;
  for (auto &graph : made.plan().graphs)
    graph->commands.clear();
  Loaded loaded(made, 4);
  EXPECT_EQ(loaded.plan->threads(), 1);
  EXPECT_TRUE(loaded.plan->run(1).ok());
}

/// Whether a step that failed gathers nothing, and the first whole one does.
static bool gathersAfterAFirstStep() {
  TestArtifact large;
  constexpr size_t kSize = 64 << 20;
  large.addArena(kSize / sizeof(float));
  Loaded loaded(large, 1);
  auto *arena = const_cast<uint8_t *>(loaded.plan->memory(Region::arena));
  fillSmallPages(arena, kSize, 0);
  auto refuse = [](size_t) { return invalid("enough"); };
  EXPECT_FALSE(loaded.plan->runStepwise(1, refuse).ok());
  long behindTheFailed = hugeKibibytes(arena);
  EXPECT_TRUE(loaded.plan->run(1).ok());
  return behindTheFailed == 0 && hugeKibibytes(arena) > 0;
}

TEST(CpuDevice, GathersItsMemoryAfterAFirstStep) {
  if (!gathersHugePages() || hugePageSetting() == "never")
    GTEST_SKIP() << "no MADV_COLLAPSE here, or huge pages are never used";
  EXPECT_TRUE(holdsOnce(gathersAfterAFirstStep));
}

TEST(CpuDevice, SaysWhichFeaturesItLacks) {
  TestArtifact made;
  auto lacks = [&] {
    auto artifact = *Artifact::fromBytes(made.bytes(), "adder");
    return CpuDevice().refusal(*artifact->header().plans()->Get(0));
  };
  EXPECT_EQ(lacks(), "");
  made.plan().features = {"sse2", "avx9000", "amx-quantum"};
  EXPECT_EQ(lacks(), "needs avx9000, amx-quantum");
}
