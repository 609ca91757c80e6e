#include "codegen/memory/memory_plan.h"

#include "tests/codegen/program_text.h"

using namespace gradus;

/// One weight, read by a first command and renewed by a last one that may take
/// over its memory.
static std::string training(const char *inplace, const char *between) {
  return std::string(R"(
gradus.program @p {
  gradus.state @w : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<64xf32>) -> (loss: tensor<64xf32>) {
    %w = gradus.read @w : tensor<64xf32>
    %y = plan.launch @forward(%x, %w) items [1] grain 1 inplace [-1] : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %new = plan.launch @update(%w, %y) items [64] grain 64 inplace [)") +
         inplace + "] : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>\n" +
         between +
         R"(
    gradus.write @w, %new : tensor<64xf32>
    gradus.return %y : tensor<64xf32>
  }
})";
}

static GraphMemory planned(ProgramText &text, const char *graph = "train") {
  ConstantPlaces constants;
  placeConstants(text.graph(graph), constants);
  return planMemory(text.graph(graph), placeStates(text.program()), constants);
}

TEST(MemoryPlan, AParameterIsUpdatedWhereItLies) {
  ProgramText text(training("0", ""));
  GraphMemory memory = planned(text);
  auto commands = commandsOf(text.graph("train"));
  EXPECT_TRUE(memory.copies.empty());
  EXPECT_EQ(memory.at(commands[1]->getResult(0)).region, MemoryRegion::state);
  EXPECT_EQ(memory.arena, 2 * 256); // the input and the loss
}

TEST(MemoryPlan, AnUpdateThatMayNotReplaceIsCopied) {
  ProgramText text(training("-1", ""));
  GraphMemory memory = planned(text);
  ASSERT_EQ(memory.copies.size(), 1u);
  EXPECT_EQ(memory.copies[0].state, "w");
}

TEST(MemoryPlan, AnOldValueThatIsReadLaterIsNotOverwritten) {
  ProgramText text(training("0", R"(
    %late = plan.launch @forward(%x, %w) items [1] grain 1 inplace [-1] : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>)"));
  EXPECT_EQ(planned(text).copies.size(), 1u);
}

TEST(MemoryPlan, AResultTakesOverAnOperandThatDies) {
  ProgramText text(R"(
gradus.program @p {
  gradus.graph @g(%x: tensor<64xf32>) -> (y: tensor<64xf32>) {
    %a = plan.launch @k(%x) items [64] grain 64 inplace [0] : (tensor<64xf32>) -> tensor<64xf32>
    %b = plan.launch @k(%a) items [64] grain 64 inplace [0] : (tensor<64xf32>) -> tensor<64xf32>
    gradus.return %b : tensor<64xf32>
  }
})");
  GraphMemory memory = planned(text, "g");
  EXPECT_EQ(memory.arena, 256);
  EXPECT_EQ(memory.bound, 256);
}

// All that lie together would be the first one.
TEST(MemoryPlan, AConstantWithoutAPlaceIsNone) {
  ProgramText text(R"(
gradus.program @p {
  gradus.graph @g() -> (y: tensor<2xf32>) {
    %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %y = plan.launch @k(%c) items [2] grain 2 inplace [-1] : (tensor<2xf32>) -> tensor<2xf32>
    gradus.return %y : tensor<2xf32>
  }
})");
  ConstantPlaces none;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(planMemory(text.graph("g"), placeStates(text.program()), none),
               "a constant of the graph has no place");
}

TEST(MemoryPlan, AReturnedOldValueIsKeptAside) {
  ProgramText text(R"(
gradus.program @p {
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train() -> (step: tensor<i64>) {
    %step = gradus.read @step : tensor<i64>
    %next = plan.launch @k(%step) items [1] grain 1 inplace [0] : (tensor<i64>) -> tensor<i64>
    gradus.write @step, %next : tensor<i64>
    gradus.return %step : tensor<i64>
  }
})");
  GraphMemory memory = planned(text);
  EXPECT_EQ(memory.snapshots.size(), 1u);
  EXPECT_EQ(memory.copies.size(), 1u);
}

TEST(MemoryPlan, WhatIsReturnedIsNotTakenOver) {
  ProgramText text(R"(
gradus.program @p {
  gradus.graph @g(%x: tensor<64xf32>) -> (same: tensor<64xf32>, y: tensor<64xf32>) {
    %y = plan.launch @k(%x) items [64] grain 64 inplace [0] : (tensor<64xf32>) -> tensor<64xf32>
    gradus.return %x, %y : tensor<64xf32>, tensor<64xf32>
  }
})");
  EXPECT_EQ(planned(text, "g").arena, 512);
}

TEST(MemoryPlan, StatesLieOnCacheLines) {
  ProgramText text(R"(
gradus.program @p {
  gradus.state @a : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<17xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
})");
  StatePlaces places = placeStates(text.program());
  EXPECT_EQ(places.offsets["a"], 0);
  EXPECT_EQ(places.offsets["b"], 64);
  EXPECT_EQ(places.bytes, 64 + 128);
}
