// Calls that take as long as they are told.

#include "runtime/cuda/time_calls.h"

#include "runtime/cuda/tune.h"

#include "clocked_library.h"
#include "packed_command.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;

namespace {

struct TimeCalls : EmulatedCard {
  StatusOr<std::vector<Times>> time(const std::vector<std::string> &algorithms,
                                    int trials) {
    PackedCommand command(callOn(0, 1, UINT32_MAX));
    std::vector<std::unique_ptr<LibraryCall>> calls;
    std::vector<LibraryCall *> list;
    for (const std::string &algorithm : algorithms) {
      calls.push_back(*library_->prepareWith(algorithm, *command, 0));
      list.push_back(calls.back().get());
    }
    return timeCalls(*card_, *command, list, trials);
  }
  void SetUp() override {
    options_.clock = &clock_;
    EmulatedCard::SetUp();
    library_.emplace(driver(), clock_);
  }

  int64_t clock_ = 1; // nanoseconds
  std::optional<ClockedLibrary> library_;
};

} // namespace

TEST_F(TimeCalls, TakeTurnsOnNumbersThatAreNotZero) {
  auto times = time({"4000", "100"}, 3);
  ASSERT_TRUE(times.ok()) << times.status();
  ASSERT_EQ(times->size(), 2u);
  ASSERT_EQ((*times)[0].size(), 3u);
  ASSERT_EQ((*times)[1].size(), 3u);
  EXPECT_NEAR(median((*times)[0]), 4000, 0.01);
  EXPECT_NEAR(median((*times)[1]), 100, 0.01);
  EXPECT_EQ(library_->zeros, 0);
  // How often: 3; each once to warm up; then 4 turns, the first not measured.
  EXPECT_EQ(library_->ran,
            "4000 4000 4000 4000 100 4000 100 4000 100 4000 100 4000 100 ");
}

/// So that a trial is longer than what it costs to measure it.
TEST_F(TimeCalls, RepeatWhatIsShort) {
  auto times = time({"10"}, 1);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_NEAR(median(times->front()), 10, 0.01);
  size_t ran = library_->ran.size() / std::string("10 ").size();
  EXPECT_GT(ran, 6u); // of a call that is not repeated
}

/// What was begun is no longer under way when its memory goes.
TEST_F(TimeCalls, SayWhateverTheDriverFailsAt) {
  int64_t calls = 0;
  for (bool works = false; !works; ++calls) {
    open(options_);
    library_.emplace(driver(), clock_);
    fake_->failAfter(calls);
    auto times = time({"300"}, 1);
    fake_->failAfter(-1);
    works = times.ok();
    if (!works)
      EXPECT_TRUE(has(times.status().message(), "CUDA_ERROR_UNKNOWN 999"));
    EXPECT_EQ(report(), "") << "call " << calls << ": " << times.status();
    ASSERT_LT(calls, 500);
  }
  EXPECT_GT(calls, 40);
}

TEST_F(TimeCalls, PassOverWhatFails) {
  auto times = time({"100", "broken"}, 2);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ((*times)[0].size(), 2u);
  EXPECT_TRUE((*times)[1].empty());
  EXPECT_EQ(time({"broken"}, 2).status().message(), "it is broken");
}
