// What ranks have in common before they run.

#include "runtime/well_known.h"
#include "tests/runtime/collectives/ranks.h"
#include "tests/tool/adder.h"
#include "tool/session/shared_artifact.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::cli;
using namespace gradus::runtime;
using testing::HasSubstr;

namespace {

/// Runs a command on simulated ranks, and returns the words with which it
/// fails on each.
std::vector<std::string>
wordsOf(int count, const std::function<void(const Ranks &)> &command) {
  std::vector<std::string> words(static_cast<size_t>(count));
  onRanks(inProcess(count), [&](CommunicationThread &thread) {
    std::shared_ptr<CommunicationThread> shared(&thread,
                                                [](CommunicationThread *) {});
    try {
      command(Ranks(shared, /*isSimulated=*/true));
    } catch (const Failure &failure) {
      words[static_cast<size_t>(thread.rank())] = failure.what();
    }
  });
  return words;
}

std::unique_ptr<Session> opened(test::TestArtifact made) {
  return take(
      Session::create(take(Artifact::fromBytes(made.bytes(), "adder.gradus")),
                      test::deviceOf("cpu"), {.threads = 1}));
}

/// The refusal where rank 1 has another artifact.
std::string refusal(const test::TestArtifact &one,
                    const test::TestArtifact &other) {
  auto words = wordsOf(2, [&](const Ranks &ranks) {
    shareArtifact(ranks, *opened(ranks.rank() ? other : one));
  });
  EXPECT_EQ(words[0], words[1]);
  return words[0];
}

} // namespace

TEST(SharedArtifact, LeavesFilesOfStatesToTheFirstRank) {
  cli::SessionOptions given;
  given.resume = "a.safetensors";
  given.init = "b.safetensors";
  given.initMap = {"c=d"};
  given.verbose = true;
  given.threads = 3;
  EXPECT_EQ(optionsOfRank(given, Ranks()).resume, "a.safetensors");
  wordsOf(2, [&](const Ranks &ranks) {
    cli::SessionOptions own = optionsOfRank(given, ranks);
    EXPECT_EQ(own.threads, 3);
    EXPECT_EQ(own.resume.empty(), ranks.rank() == 1);
    EXPECT_EQ(own.init.empty(), ranks.rank() == 1);
    EXPECT_EQ(own.initMap.empty(), ranks.rank() == 1);
    EXPECT_EQ(own.verbose, ranks.rank() == 0);
  });
}

TEST(SharedArtifact, GivesAllTheRecordOfTheFirst) {
  std::string path = test::temporaryPath("record.safetensors");
  training::TrainingRecord record;
  record.seed = 11;
  ASSERT_TRUE(
      opened({})->saveCheckpoint(path, {{"training", record.text()}}).ok());
  wordsOf(3, [&](const Ranks &ranks) {
    auto found = sharedRecord(ranks, ranks.rank() ? "" : path);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->seed, 11u);
    EXPECT_FALSE(sharedRecord(ranks, ""));
  });
  EXPECT_TRUE(sharedRecord(Ranks(), path));
  std::filesystem::remove(path);
}

TEST(SharedArtifact, GivesAllTheStatesOfTheFirst) {
  auto words = wordsOf(2, [](const Ranks &ranks) {
    auto session = opened({});
    int64_t step = 5 + ranks.rank();
    check(session->writeState("step", &step, sizeof(step)));
    shareArtifact(ranks, *session);
    EXPECT_EQ(*session->stepCount(), 5);
  });
  EXPECT_THAT(words, testing::Each(""));
}

TEST(SharedArtifact, IsRefusedWhereItIsAnother) {
  test::TestArtifact one, other;
  one.header.recipe = R"({"optimizer": {"learning_rate": 0.1}})";
  other.header.recipe = R"({"optimizer": {"learning_rate": 0.2}})";
  EXPECT_EQ(refusal(one, one), "");
  EXPECT_THAT(refusal(one, other),
              HasSubstr("optimizer.learning_rate in the artifact's recipe is "
                        "0.1 on rank 0 (this process), and 0.2 on rank 1 (this "
                        "process)"));
  test::TestArtifact third = one;
  third.header.name = "subtractor";
  EXPECT_THAT(refusal(one, third), HasSubstr("the hash of the artifact is "));
}

TEST(SharedArtifact, OfOneProcessIsLeftAlone) {
  auto session = opened({});
  shareArtifact(Ranks(), *session);
}

TEST(SharedArtifact, TrainsOnRanksIfItIsForRanks) {
  Adder adder;
  auto session = adder.open();
  checkTrainsOnRanks(Ranks(), *session);
  onRanks(inProcess(2), [&](CommunicationThread &thread) {
    std::shared_ptr<CommunicationThread> shared(&thread,
                                                [](CommunicationThread *) {});
    try {
      checkTrainsOnRanks(Ranks(shared, true), *session);
      ADD_FAILURE();
    } catch (const Failure &failure) {
      EXPECT_EQ(failure.what(),
                adder.path + ": was compiled to train on one process, and 2 "
                             "run it; compile with --set "
                             "distribution.mode=data_parallel");
    }
  });
  test::TestArtifact artifact;
  artifact.header.states[2]->name = well_known::kRanks;
  artifact.header.states[2]->role = artifact::Role::place;
  auto trained = Adder(artifact).open();
  onRanks(inProcess(2), [&](CommunicationThread &thread) {
    std::shared_ptr<CommunicationThread> shared(&thread,
                                                [](CommunicationThread *) {});
    checkTrainsOnRanks(Ranks(shared, true), *trained);
  });
}

/// Whichever processes run them, logical ranks have the same batches.
TEST(SharedArtifact, DealsBatchesToLogicalRanks) {
  test::TestArtifact made;
  made.addTurns();
  auto alone = opened(made);
  data::Deal deal = dealOf(Ranks(), *alone);
  EXPECT_EQ(deal.rank, 0);
  EXPECT_EQ(deal.ranks, 2);
  EXPECT_EQ(deal.turns, 2);
  EXPECT_EQ(ranksText(Ranks(), *alone), "2 logical ranks on 1 process");
  EXPECT_EQ(ranksText(Ranks(), *opened({})), "");
  auto words = wordsOf(2, [&](const Ranks &ranks) {
    auto session = take(Session::create(
        take(Artifact::fromBytes(made.bytes(), "adder.gradus")),
        test::deviceOf("cpu"), {.threads = 1, .collectives = ranks.thread()}));
    checkTrainsOnRanks(ranks, *session);
    data::Deal own = dealOf(ranks, *session);
    EXPECT_EQ(own.rank, ranks.rank());
    EXPECT_EQ(own.ranks, 2);
    EXPECT_EQ(own.turns, 1);
    EXPECT_EQ(ranksText(ranks, *session),
              "2 logical ranks on 2, simulated by threads of this process");
    EXPECT_EQ(dealOf(ranks, *opened({})).ranks, 2);
  });
  EXPECT_THAT(words, testing::Each(""));
}
