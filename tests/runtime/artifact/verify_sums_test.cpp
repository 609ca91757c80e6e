#include "tests/runtime/refusals.h"

#include <gtest/gtest.h>

using namespace gradus::test;
namespace fb = gradus::artifact;

namespace {

const std::string kTrain = "adder: plan 0 (cpu:x86-64-v2): graph train: ";

using Buffers = std::vector<uint32_t>;

void start(TestArtifact &made, uint32_t number, Buffers buffers) {
  fb::StartCommandT command;
  command.number = number;
  command.buffers = std::move(buffers);
  made.add("start", std::move(command));
}

void finish(TestArtifact &made, uint32_t number, const Buffers &buffers) {
  fb::FinishCommandT command;
  command.number = number;
  command.buffers = command.results = buffers;
  made.add("finish", std::move(command));
}

/// A command that copies a buffer of 8 floats.
void copy(TestArtifact &made, uint32_t from, uint32_t to) {
  fb::CopyCommandT command;
  command.source = from;
  command.destination = to;
  made.add("copy", command);
}

} // namespace

TEST(VerifySums, AcceptsSumsThatOverlapInTime) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              start(made, 0, {kX, kSum});
              start(made, 1, {kShifted});
              finish(made, 0, {kX, kSum});
              copy(made, kX, kSum);
              finish(made, 1, {kShifted});
              start(made, 2, {kX});
              finish(made, 2, {kX});
            }),
            "ok");
}

TEST(VerifySums, RefusesNumbersOutOfOrder) {
  EXPECT_EQ(wordsAfter([](auto &made) { start(made, 1, {kX}); }),
            kTrain + "command 4 (start): begins sum 1, expected 0");
  EXPECT_EQ(wordsAfter([](auto &made) {
              start(made, 0, {kX});
              start(made, 1, {kSum});
              finish(made, 1, {kSum});
            }),
            kTrain + "command 6 (finish): waits for sum 1, expected 0");
}

TEST(VerifySums, RefusesAnEndWithoutABeginning) {
  EXPECT_EQ(wordsAfter([](auto &made) { finish(made, 0, {kX}); }),
            kTrain + "command 4 (finish): waits for sum 0, which has not "
                     "begun");
  EXPECT_EQ(wordsAfter([](auto &made) {
              finish(made, 0, {kX});
              start(made, 0, {kX});
            }),
            kTrain + "command 4 (finish): waits for sum 0, which has not "
                     "begun");
}

TEST(VerifySums, RefusesSumsThatAreNeverWaitedFor) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              start(made, 0, {kX});
              finish(made, 0, {kX});
              start(made, 1, {kX});
            }),
            kTrain + "begins 2 sums over ranks and waits for 1");
}

TEST(VerifySums, RefusesOtherBuffersAtTheEnd) {
  for (const Buffers &others :
       {Buffers{}, Buffers{kX}, Buffers{kSum, kX}, Buffers{kX, kSum, kShifted}})
    EXPECT_EQ(wordsAfter([&](auto &made) {
                start(made, 0, {kX, kSum});
                finish(made, 0, others);
              }),
              kTrain + "command 5 (finish): waits for other buffers than sum "
                       "0 has");
}

TEST(VerifySums, RefusesToUseTheMemoryOfASumBeforeItIsWaitedFor) {
  auto words = [](uint32_t from, uint32_t to) {
    return wordsAfter([&](auto &made) {
      start(made, 0, {kX});
      copy(made, from, to);
      finish(made, 0, {kX});
    });
  };
  EXPECT_EQ(words(kSum, kShifted), "ok");
  EXPECT_EQ(words(kX, kSum), kTrain + "command 5 (copy): uses buffer 3, which "
                                      "belongs to sum 0 until it is waited "
                                      "for");
  EXPECT_EQ(words(kSum, kX), kTrain + "command 5 (copy): uses buffer 3, which "
                                      "belongs to sum 0 until it is waited "
                                      "for");
  // State and constants are no arena, wherever they lie.
  EXPECT_EQ(words(kConstant, kTotal), "ok");
}

// A sum of no bytes ends where another one begins.
TEST(VerifySums, KnowsSumsByTheirNumbersAndNotByTheirPlaces) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              uint32_t empty = made.addArena(0);
              made.plan().buffers[empty]->offset =
                  made.plan().buffers[kX]->offset;
              start(made, 0, {empty});
              start(made, 1, {kX});
              finish(made, 0, {empty});
              copy(made, kX, kSum);
              finish(made, 1, {kX});
            }),
            kTrain + "command 7 (copy): uses buffer 3, which belongs to sum 1 "
                     "until it is waited for");
}

TEST(VerifySums, RefusesASumOfWhatIsBeingSummed) {
  EXPECT_EQ(wordsAfter([](auto &made) { start(made, 0, {kX, kX}); }),
            kTrain + "command 4 (start): sums buffer 3, which overlaps another "
                     "of sum 0");
  EXPECT_EQ(wordsAfter([](auto &made) {
              start(made, 0, {kX});
              start(made, 1, {kSum, kX});
            }),
            kTrain + "command 5 (start): sums buffer 3, which overlaps another "
                     "of sum 0");
}

// What lies between the buffers of a sum is summed with them: here the second
// half of a line, which the copy writes as a part of all 128 bytes.
TEST(VerifySums, RefusesToUseTheRestOfASumsLines) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              uint32_t small = made.addArena(4), large = made.addArena(32),
                       other = made.addArena(32);
              made.plan().buffers[small]->offset =
                  made.plan().buffers[large]->offset + 64;
              start(made, 0, {small});
              copy(made, other, large);
              finish(made, 0, {small});
            }),
            kTrain + "command 5 (copy): uses buffer 9, which belongs to sum 0 "
                     "until it is waited for");
}

TEST(VerifySums, RefusesAResultInTheMemoryOfAnother) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              start(made, 0, {kX});
              start(made, 1, {kSum});
              finish(made, 0, {kX});
              made.command(6).kind.AsFinishCommand()->results = {kSum};
              finish(made, 1, {kSum});
            }),
            kTrain + "command 6 (finish): uses buffer 4, which belongs to sum "
                     "1 until it is waited for");
}

/// What inspect says of its time would take for ever to find.
TEST(VerifySums, RefusesMoreBytesThanAnyMemoryHas) {
  constexpr int64_t kHalf = int64_t(1) << 37; // floats
  auto words = [](std::initializer_list<int64_t> floats) {
    return wordsAfter([&](auto &made) {
      Buffers buffers;
      for (int64_t each : floats)
        buffers.push_back(made.addArena(each));
      start(made, 0, buffers);
      finish(made, 0, buffers);
    });
  };
  EXPECT_EQ(words({kHalf, kHalf}), "ok");
  EXPECT_EQ(words({kHalf * 2 + 1}),
            kTrain + "command 4 (start): sums buffer 8 of 1099511627780 "
                     "bytes, expected at most 1099511627776 of the "
                     "1099511627776 that a sum may have");
  EXPECT_EQ(words({kHalf, kHalf + 1}),
            kTrain + "command 4 (start): sums buffer 9 of 549755813892 bytes, "
                     "expected at most 549755813888 of the 1099511627776 that "
                     "a sum may have");
}
