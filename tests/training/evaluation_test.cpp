// What can be evaluated, and whose fault it is where it cannot; that every
// sample counts once is tested end to end (tests/end_to_end/digits.test).

#include "tests/runtime/collectives/ranks.h"
#include "tests/training/adding.h"
#include "tests/training/data/files.h"
#include "training/evaluation.h"
#include "training/feeds.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::training;

namespace {

/// That many samples of the adder's input, of which a batch has 8.
struct Samples {
  explicit Samples(int64_t count, test::TestArtifact artifact = {})
      : adding(std::move(artifact)) {
    std::vector<float> values(count);
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(i % 7) / 10;
    std::string path =
        folder.write("x.npy", data::npyFile("<f4", std::to_string(count) + ",",
                                            data::bytesOf(values)));
    set = *data::Dataset::open({"x=" + path});
    file = path;
    feed = *feedOf(*adding.session, 0, set, Use::evaluation);
  }

  test::Adding adding;
  data::Folder folder;
  data::Dataset set;
  data::Feed feed;
  std::string file;
};

/// An artifact whose loss is a number of the batch alone.
test::TestArtifact withLoss() {
  test::TestArtifact made;
  made.header.graphs[0]->outputs[1]->name = "loss";
  made.header.graphs[0]->outputs[1]->type->shape = {};
  artifact::BufferT &loss = *made.plan().buffers[test::kShifted];
  loss.type->shape = {};
  loss.size = sizeof(float);
  auto &shift = *made.command(2).kind.AsKernelCommand();
  shift.segments.resize(1);
  shift.segments[0]->buffers = {test::kX, test::kConstant, test::kShifted};
  shift.segments[0]->items = 1;
  return made;
}

} // namespace

TEST(Evaluation, UsesTheSamplesThatFillBatches) {
  Samples samples(20);
  EXPECT_EQ(evaluatedSamples(samples.feed), 16);
  EXPECT_TRUE(verifyEvaluates(samples.feed, "x.npy").ok());
  int64_t batches = 0;
  auto figures = evaluate(*samples.adding.session, 0, samples.feed, 1,
                          [&](auto, int64_t count) {
                            batches += count == 8;
                            return runtime::Status();
                          });
  EXPECT_TRUE(figures.ok()) << figures.status();
  EXPECT_EQ(batches, 2);
}

TEST(Evaluation, NeedsABatch) {
  Samples samples(4);
  EXPECT_EQ(verifyEvaluates(samples.feed, "x.npy").message(),
            "x.npy: 4 samples do not fill a batch of 8, and the loss cannot "
            "leave padding out");
}

TEST(Evaluation, TellsAFailureOfTheSessionFromOneOfTheData) {
  Samples samples(20);
  bool unreadable = true;
  samples.adding.session->cancel();
  auto figures =
      evaluate(*samples.adding.session, 0, samples.feed, 1, {}, &unreadable);
  EXPECT_EQ(figures.status().code(), runtime::StatusCode::cancelled);
  EXPECT_FALSE(unreadable);
}

/// Floats of many sizes, whose sum shows the order of additions.
TEST(Evaluation, OnRanksHasTheDigitsOfOneProcess) {
  for (int64_t count : {8, 24, 60}) {
    Samples alone(count, withLoss());
    auto expected = *evaluate(*alone.adding.session, 0, alone.feed);
    ASSERT_EQ(expected.size(), 1u);
    for (int ranks = 1; ranks <= 4; ++ranks)
      runtime::onRanks(
          runtime::inProcess(ranks), [&](runtime::CommunicationThread &rank) {
            Samples samples(count, withLoss());
            int64_t batches = 0;
            auto figures = evaluate(
                *samples.adding.session, 0, samples.feed, 1,
                [&](auto, int64_t) {
                  ++batches;
                  return runtime::Status();
                },
                nullptr, &rank);
            ASSERT_TRUE(figures.ok()) << figures.status();
            EXPECT_EQ(batches, (count / 8 + ranks - 1 - rank.rank()) / ranks);
            EXPECT_EQ(figures->at(0).value, expected[0].value);
          });
  }
}

/// One is asked to end; the others hear of it between batches, or where they
/// wait.
TEST(Evaluation, OnRanksEndsWhereOneDoes) {
  using namespace runtime;
  for (bool looks : {false, true}) {
    auto run = [looks](CommunicationThread &rank) {
      Samples samples(60, withLoss());
      auto after = [&](auto, int64_t) -> Status {
        if (rank.rank() == 1)
          return {StatusCode::cancelled, "interrupted"};
        while (looks && rank.failure().ok())
          std::this_thread::yield();
        return rank.failure();
      };
      bool unreadable = true;
      Status status = evaluate(*samples.adding.session, 0, samples.feed, 1,
                               after, &unreadable, &rank)
                          .status();
      EXPECT_FALSE(unreadable);
      EXPECT_EQ(rank.fail(status).message(),
                "rank 1 (this process): interrupted");
      EXPECT_EQ(rank.end().code(), StatusCode::cancelled);
    };
    std::vector<std::thread> threads;
    for (const OpenCommunicator &open : inProcess(3))
      threads.emplace_back(
          [open, run] { run(**CommunicationThread::start(open, patient())); });
    for (std::thread &thread : threads)
      thread.join();
  }
}

/// The others have read theirs, and return the same failure.
TEST(Evaluation, OnRanksEndsTogetherWhereOneCannotRead) {
  for (int unlucky : {0, 2})
    runtime::onRanks(
        runtime::inProcess(3), [&](runtime::CommunicationThread &rank) {
          Samples samples(60, withLoss());
          if (rank.rank() == unlucky)
            std::filesystem::resize_file(samples.file, 0);
          bool unreadable = false;
          auto figures = evaluate(*samples.adding.session, 0, samples.feed, 1,
                                  {}, &unreadable, &rank);
          EXPECT_TRUE(unreadable);
          EXPECT_THAT(figures.status().message(),
                      testing::StartsWith(runtime::inWords(
                          "rank ", unlucky, " (this process): ")));
          EXPECT_THAT(figures.status().message(),
                      testing::HasSubstr("cut short while it was read"));
        });
}
