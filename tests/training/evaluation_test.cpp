// What can be evaluated, and whose fault it is where it cannot; that every
// sample counts once is tested end to end (tests/end_to_end/digits.test).

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
  explicit Samples(int64_t count) {
    std::string path = folder.write(
        "x.npy", data::npyFile("<f4", std::to_string(count) + ",",
                               data::bytesOf(std::vector<float>(count, 1))));
    set = *data::Dataset::open({"x=" + path});
    feed = *feedOf(*adding.session, 0, set, Use::evaluation);
  }

  test::Adding adding;
  data::Folder folder;
  data::Dataset set;
  data::Feed feed;
};

} // namespace

TEST(Evaluation, UsesTheSamplesThatFillBatches) {
  Samples samples(20);
  EXPECT_EQ(evaluatedSamples(samples.feed), 16);
  EXPECT_TRUE(verifyEvaluates(samples.feed, "x.npy").ok());
  int64_t batches = 0;
  auto figures = evaluate(*samples.adding.session, 0, samples.feed, 1,
                          [&](auto, int64_t count) { batches += count == 8; });
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
