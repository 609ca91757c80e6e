// All ranks do what rank 0 decides, whatever each would do by itself.

#include "tests/runtime/collectives/ranks.h"
#include "training/led_decider.h"

#include <gmock/gmock.h>

using namespace gradus::runtime;
using namespace gradus::training;
using Due = Decision::Test;
using Then = Decision::Then;

namespace {

bool isTrue() { return true; }
bool isFalse() { return false; }

/// Decides what its rank would do by itself, and counts how often it is asked.
struct Own : Decider {
  explicit Own(int rank) : rank(rank) {}

  Decision atBorder(const Border &border) override {
    ++asked;
    Decision decision;
    decision.test = border.isLast ? Due::atEnd : Due::due;
    decision.isBest = border.tested;
    decision.save = rank == 0;
    return decision;
  }
  int64_t stepsToRun(int64_t done, int64_t most) override {
    ++asked;
    return done + most + rank;
  }
  void addTo(TrainingRecord &record) const override { record.seed = 7; }
  void restore(const TrainingRecord &record) override { seed = record.seed; }

  int rank, asked = 0;
  uint64_t seed = 0;
};

/// What each rank does at a border, where rank `wishing` was asked to end.
std::vector<Decision> decided(int ranks, const Border &border,
                              int wishing = -1) {
  std::vector<Decision> all(static_cast<size_t>(ranks));
  onRanks(inProcess(ranks), [&](CommunicationThread &rank) {
    Own own(rank.rank());
    LedDecider led(rank, own, [&] { return rank.rank() == wishing; }, isTrue);
    all[static_cast<size_t>(rank.rank())] = led.atBorder(border);
  });
  return all;
}

} // namespace

TEST(LedDecider, LetsRankZeroDecide) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (const Decision &decision : decided(ranks, {.isLast = true})) {
      EXPECT_EQ(decision.test, Due::atEnd);
      EXPECT_TRUE(decision.save);
      EXPECT_EQ(decision.then, Then::goOn);
    }
}

TEST(LedDecider, AsksNoOther) {
  onRanks(inProcess(3), [](CommunicationThread &rank) {
    Own own(rank.rank());
    LedDecider led(rank, own, isFalse, isTrue);
    EXPECT_EQ(led.stepsToRun(5, 10), 15);
    led.atBorder({});
    EXPECT_EQ(own.asked, rank.rank() ? 0 : 2);
  });
}

TEST(LedDecider, BreaksAllOffWhereOneIsAskedTo) {
  for (int wishing = 0; wishing < 3; ++wishing)
    for (const Decision &decision : decided(3, {.step = 1}, wishing)) {
      EXPECT_EQ(decision.then, Then::breakOff);
      EXPECT_FALSE(decision.save);
    }
}

TEST(LedDecider, GoesOnAtTheStartAndAfterATest) {
  for (const Decision &decision : decided(3, {.isStart = true}, 2))
    EXPECT_EQ(decision.then, Then::goOn);
  std::vector<Metric> figures = {{"loss", 1}};
  for (const Decision &decision : decided(3, {.tested = &figures}, 2)) {
    EXPECT_EQ(decision.then, Then::goOn);
    EXPECT_TRUE(decision.isBest);
  }
}

TEST(LedDecider, KeepsTheRecordOfItsOwn) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    Own own(rank.rank());
    LedDecider led(rank, own, isFalse, isTrue);
    TrainingRecord record;
    led.addTo(record);
    EXPECT_EQ(record.seed, 7u);
    led.restore(record);
    EXPECT_EQ(own.seed, 7u);
  });
}

/// Between the batches of an update rank 0 has only its own gradients.
TEST(LedDecider, SavesAndEndsBehindAnUpdate) {
  for (int wishing : {-1, 1})
    onRanks(inProcess(2), [&](CommunicationThread &rank) {
      Own own(rank.rank());
      bool isWhole = false;
      LedDecider led(
          rank, own, [&] { return rank.rank() == wishing; },
          [&] { return isWhole; });
      Decision within = led.atBorder({.step = 1});
      EXPECT_FALSE(within.save);
      EXPECT_EQ(within.then, Then::goOn);
      EXPECT_EQ(led.stepsToRun(1, 10), 1) << "no longer than must be";
      isWhole = true;
      Decision behind = led.atBorder({.step = 2});
      EXPECT_EQ(behind.save, wishing < 0);
      EXPECT_EQ(behind.then, wishing < 0 ? Then::goOn : Then::breakOff);
    });
}

TEST(LedDecider, SettlesOnOneFailure) {
  onRanks(inProcess(3), [](CommunicationThread &rank) {
    Own own(rank.rank());
    LedDecider led(rank, own, isFalse, isTrue);
    Status status;
    EXPECT_TRUE(led.settle(status).ok());
    EXPECT_TRUE(status.ok());
    EXPECT_FALSE(led.hasSettledOn(status));
    if (rank.rank())
      status = invalid("x.png: no image");
    EXPECT_TRUE(led.settle(status).ok());
    EXPECT_EQ(status.code(), StatusCode::invalid);
    EXPECT_EQ(status.message(), "rank 1 (this process): x.png: no image");
    EXPECT_TRUE(led.hasSettledOn(status));
    EXPECT_FALSE(led.hasSettledOn(failed("the disk is full")));
    // A rank may fail by itself in the same words.
    EXPECT_FALSE(led.hasSettledOn(Status(status.code(), status.message())));
  });
}

/// The next step has the words of the failure.
TEST(LedDecider, GoesOnAfterAFailure) {
  auto openers = inProcess(2);
  std::thread other([&] {
    auto rank = *CommunicationThread::start(openers[1], patient());
    (void)rank->fail(failed("the disk is full"));
    (void)rank->end();
  });
  auto rank = *CommunicationThread::start(openers[0], patient());
  Own own(0);
  LedDecider led(*rank, own, isTrue, isTrue);
  EXPECT_EQ(led.atBorder({.step = 1}).then, Then::goOn);
  EXPECT_EQ(led.stepsToRun(5, 10), 1);
  Status status;
  EXPECT_THAT(led.settle(status).message(),
              testing::HasSubstr("the disk is full"));
  EXPECT_THAT(rank->finish(rank->begin({})).message(),
              testing::HasSubstr("the disk is full"));
  EXPECT_FALSE(rank->end().ok());
  other.join();
}
