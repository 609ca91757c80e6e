// What ranks must have in common to train.

#include "tests/runtime/collectives/ranks.h"
#include "tests/tool/adder.h"
#include "tests/training/data/files.h"
#include "tool/train/agreed_run.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::cli;
using namespace gradus::runtime;
using testing::HasSubstr;

namespace {

/// A rank's part of a run.
struct Part {
  explicit Part(std::vector<int64_t> numbers) {
    dataset = *data::Dataset::open(
        {"x=" + folder.write("x.npy", data::numbersFile(numbers))});
    feed = *data::Feed::match(dataset, {{"x", {DType::i64, {2}}, 16}});
  }
  RunFacts facts() const { return {feed, nullptr, 3, 100, 10, 0, 0}; }

  data::Folder folder;
  data::Dataset dataset;
  data::Feed feed;
};

/// The refusal on each of two ranks, of which the second differs by `change`.
std::string
refusal(const std::function<void(Part &, TrainOptions &, RunFacts &)> &change,
        std::vector<int64_t> other = {1, 2, 3, 4, 5}) {
  std::string words[2];
  onRanks(inProcess(2), [&](CommunicationThread &thread) {
    std::shared_ptr<CommunicationThread> shared(&thread,
                                                [](CommunicationThread *) {});
    Part part(thread.rank() ? other : std::vector<int64_t>{1, 2, 3, 4, 5});
    TrainOptions options;
    RunFacts facts = part.facts();
    if (thread.rank())
      change(part, options, facts);
    try {
      agreeOnRun(Ranks(shared, true), options, facts);
    } catch (const Failure &failure) {
      EXPECT_EQ(failure.code, kBadInput);
      words[thread.rank()] = failure.what();
    }
  });
  EXPECT_EQ(words[0], words[1]);
  return words[0];
}

} // namespace

TEST(AgreedRun, IsTheSameOnAllRanks) {
  EXPECT_EQ(refusal([](auto &, auto &, auto &) {}), "");
}

TEST(AgreedRun, NeedsTheSameNumbers) {
  EXPECT_EQ(refusal([](auto &, auto &, auto &facts) { facts.seed = 4; }),
            "the seed of the samples' order is 3 on rank 0 (this process), and "
            "4 on rank 1 (this process)");
  EXPECT_THAT(refusal([](auto &, auto &, auto &facts) { facts.steps = 101; }),
              HasSubstr("the number of steps is 100 on rank 0"));
  EXPECT_THAT(refusal([](auto &, TrainOptions &options, auto &) {
                options.debugNonfinite = true;
              }),
              HasSubstr("--debug-nonfinite is not given on rank 0 (this "
                        "process), and given on rank 1"));
}

TEST(AgreedRun, NeedsTheSameData) {
  auto nothing = [](auto &, auto &, auto &) {};
  EXPECT_THAT(refusal(nothing, {1, 2, 3, 4}),
              HasSubstr("the number of samples to train on is 5 on rank 0 "
                        "(this process), and 4 on rank 1"));
  EXPECT_THAT(refusal(nothing, {1, 2, 3, 4, 6}),
              HasSubstr("the hash of some samples to train on is "));
}
