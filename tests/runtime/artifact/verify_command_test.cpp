#include "tests/runtime/refusals.h"

#include <gtest/gtest.h>

using namespace gradus::test;
namespace fb = gradus::artifact;

static const std::string kTrain =
    "adder: plan 0 (cpu:x86-64-v2): graph train: ";

static fb::KernelCommandT &kernel(TestArtifact &made, size_t command) {
  return *made.command(command).kind.AsKernelCommand();
}

TEST(VerifyCommand, RefusesKernelsThatDoNotExist) {
  EXPECT_EQ(wordsAfter([](auto &made) { kernel(made, 0).kernel = 2; }),
            kTrain + "command 0 (total += x): calls kernel 2 of 2");
}

TEST(VerifyCommand, RefusesWrongNumbersOfBuffers) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              kernel(made, 0).segments[0]->buffers.pop_back();
            }),
            kTrain + "command 0 (total += x): segment 0: has 2 buffers, and "
                     "the kernel takes 3");
  EXPECT_EQ(
      wordsAfter(
          [](auto &made) { kernel(made, 2).segments[1]->buffers[0] = 8; }),
      kTrain +
          "command 2 (shift x2): segment 1: argument 0: names buffer 8 of 8");
}

TEST(VerifyCommand, RefusesMoreItemsThanBuffersHold) {
  EXPECT_EQ(
      wordsAfter([](auto &made) { kernel(made, 0).segments[0]->items = 9; }),
      kTrain + "command 0 (total += x): segment 0: argument 0: its buffer has "
               "32 bytes, "
               "too few for 9 items");
  EXPECT_NE(wordsAfter([](auto &made) {
              kernel(made, 0).segments[0]->items = INT64_MAX;
            }),
            "ok");
  EXPECT_EQ(
      wordsAfter([](auto &made) { kernel(made, 0).segments[0]->items = -1; }),
      kTrain + "command 0 (total += x): segment 0: has -1 items, and the "
               "kernel takes at "
               "most 0");
  EXPECT_EQ(
      wordsAfter([](auto &made) { kernel(made, 3).segments[0]->items = 2; }),
      kTrain + "command 3 (count): segment 0: has 2 items, and the kernel "
               "takes at most 1");
}

TEST(VerifyCommand, RefusesToWriteConstants) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              kernel(made, 0).segments[0]->buffers[2] = kConstant;
            }),
            kTrain + "command 0 (total += x): segment 0: argument 2: would "
                     "write to buffer 6, "
                     "which is a constant");
  EXPECT_EQ(
      wordsAfter([](auto &made) {
        made.command(1).kind.AsCopyCommand()->destination = kConstant;
      }),
      kTrain +
          "command 1 (copy): would write to buffer 6, which is a constant");
}

TEST(VerifyCommand, RefusesBlocksOfNothing) {
  EXPECT_EQ(wordsAfter([](auto &made) { kernel(made, 0).grain = 0; }),
            kTrain + "command 0 (total += x): hands out 0 items at a time");
}

TEST(VerifyCommand, RefusesCopiesBetweenSizes) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.command(1).kind.AsCopyCommand()->source = kScratch;
            }),
            kTrain + "command 1 (copy): copies 64 bytes to 32");
}

TEST(VerifyCommand, RefusesCopiesOntoThemselves) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              auto &copy = *made.command(1).kind.AsCopyCommand();
              fb::PlanT &plan = *made.header.plans[0];
              plan.arena_bytes = 512;
              for (uint64_t offset : {256, 320}) {
                auto buffer = std::make_unique<fb::BufferT>();
                buffer->region = fb::Region::arena;
                buffer->offset = offset;
                buffer->size = 128;
                plan.buffers.push_back(std::move(buffer));
              }
              copy.source = uint32_t(plan.buffers.size() - 2);
              copy.destination = copy.source + 1;
            }),
            kTrain + "command 1 (copy): copies 128 bytes to a place 64 bytes "
                     "from where they are");
}

TEST(VerifyCommand, RefusesACommandWithoutAKind) {
  EXPECT_EQ(wordsAfter([](auto &made) { made.command(1).kind.Reset(); }),
            kTrain + "command 1 (copy): does nothing");
}
