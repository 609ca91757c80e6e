// Which algorithm is chosen for a call, and which calls a plan has.

#include "runtime/cuda/tune.h"

#include "adder_on_card.h"
#include "clocked_library.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using namespace gradus::test;

TEST(Fastest, HasTheLeastMedian) {
  EXPECT_EQ(fastest({{9, 10, 11}, {8, 7, 30}, {9, 9, 9}}, 0.02), 1u);
  EXPECT_EQ(median({5, 1, 3}), 3);
}

TEST(Fastest, IsTheDefaultWithinNoise) {
  EXPECT_EQ(fastest({{100, 100, 100}, {99, 98.5, 99}}, 0.02), 0u);
  EXPECT_EQ(fastest({{100, 100, 100}, {97, 97, 97}}, 0.02), 1u);
  EXPECT_EQ(fastest({{100, 100, 100}, {}}, 0.02), 0u); // it failed
  EXPECT_EQ(fastest({{100}}, 0.02), 0u);
}

namespace {

struct Tune : AdderOnCard {
  void SetUp() override {
    options_.clock = &clock_;
    AdderOnCard::SetUp();
    library_.emplace(driver(), clock_);
  }
  void add(uint32_t from, int64_t scratch) {
    adder_.add("negate", callOn(from, kSum, adder_.addArena(scratch / 4)));
  }
  StatusOr<std::vector<TunedCall>> tune() {
    read();
    TuneOptions options;
    options.trials = 15;
    options.progress = [&](size_t number, size_t count) {
      progress_ += inWords(number, "/", count, " ");
    };
    return tuneCalls(*card_, *library_, plan(), options);
  }

  int64_t clock_ = 1; // nanoseconds
  std::optional<ClockedLibrary> library_;
  std::string progress_;
};

} // namespace

/// Commands that differ in their buffers are one call, which has the least
/// scratch of them.
TEST_F(Tune, MeasuresEachCallOnce) {
  add(kTotal, 4096);
  add(kX, 1024);
  add(kTotal, 2048);
  activationOf(*adder_.command(6).kind.AsLibraryCommand()) =
      gradus::artifact::Activation::relu;
  auto &choices = adder_.command(4).kind.AsLibraryCommand()->choices;
  choices.push_back(std::make_unique<gradus::artifact::LibraryChoiceT>());
  auto calls = tune();
  ASSERT_TRUE(calls.ok()) << calls.status();
  ASSERT_EQ(calls->size(), 2u);
  EXPECT_EQ(library_->offered, (std::vector<uint64_t>{1024, 2048}));
  EXPECT_FALSE(library_->hadChoices); // what was measured before is no default
  EXPECT_EQ(progress_, "0/2 1/2 ");
  const TunedCall &call = calls->front();
  EXPECT_EQ(call.call, "matmul f32 8x1 x f32 1x1 -> f32 8x1");
  EXPECT_EQ(call.library, "clocked 1");
  EXPECT_EQ(call.algorithm, "100");
  EXPECT_EQ(call.candidates, 3u);
  EXPECT_NEAR(call.microseconds, 100, 0.01);
  EXPECT_NEAR(call.defaultMicroseconds, 300, 0.01);
  EXPECT_EQ(calls->back().call, "matmul f32 8x1 x f32 1x1 -> f32 8x1, relu");
}

TEST_F(Tune, LeavesWhatNeedsMoreScratchThanThePlanHas) {
  add(kTotal, 256);
  auto calls = tune();
  ASSERT_TRUE(calls.ok()) << calls.status();
  EXPECT_EQ(calls->front().candidates, 0u);
  EXPECT_EQ(calls->front().algorithm, "");
  EXPECT_EQ(calls->front().microseconds, calls->front().defaultMicroseconds);
}

TEST_F(Tune, NamesTheCommandThatIsNotServed) {
  add(kTotal, 1024);
  read();
  adder_.command(4).kind.AsLibraryCommand()->inputs[0]->inner_blocks = {4};
  adder_.command(4).kind.AsLibraryCommand()->inputs[0]->inner_axes = {0};
  EXPECT_EQ(tune().status().message(),
            "command 4 (negate): has axis 0 of size 8 in blocks of 4, which "
            "libraries of cards do not take");
}
