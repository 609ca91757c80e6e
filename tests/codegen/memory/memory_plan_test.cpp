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

/// Gradients of sizes that are no whole cache lines, which `start` sends and
/// `after` uses.
static std::string bucketOf(const std::string &start,
                            const std::string &after) {
  return R"(
gradus.program @p {
  gradus.state @w : tensor<5xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<5xf32>) -> (y: tensor<5xf32>) {
    %a = plan.launch @k(%x) items [5] grain 64 inplace [-1] : (tensor<5xf32>) -> tensor<5xf32>
    %b = plan.launch @k(%x) items [20] grain 64 inplace [-1] : (tensor<5xf32>) -> tensor<20xf32>
    %raw = plan.launch @k(%x) items [5] grain 64 inplace [-1] : (tensor<5xf32>) -> tensor<5xf32>
    %c = plan.launch @k(%raw) items [5] grain 64 inplace [0] : (tensor<5xf32>) -> tensor<5xf32>
    %token = plan.start )" +
         start + R"( -> tensor<0xi8>
    %s:3 = plan.finish %token, %a, %b, %c number 0 : tensor<0xi8>, tensor<5xf32>, tensor<20xf32>, tensor<5xf32> -> tensor<5xf32>, tensor<20xf32>, tensor<5xf32>
)" + after +
         "\n  }\n}";
}

static const char *const kBucket =
    "%a, %b, %c number 0 : tensor<5xf32>, tensor<20xf32>, tensor<5xf32>";

TEST(MemoryPlan, TheMembersOfABucketLieOneAfterTheOther) {
  ProgramText text(bucketOf(kBucket, R"(
    %y = plan.launch @use(%s#0, %s#1, %s#2) items [1] grain 1 inplace [-1] : (tensor<5xf32>, tensor<20xf32>, tensor<5xf32>) -> tensor<5xf32>
    gradus.return %y : tensor<5xf32>)"));
  GraphMemory memory = planned(text);
  auto commands = commandsOf(text.graph("train"));
  int64_t first = memory.at(commands[0]->getResult(0)).offset;
  EXPECT_EQ(memory.at(commands[1]->getResult(0)).offset, first + 64);
  EXPECT_EQ(memory.at(commands[3]->getResult(0)).offset, first + 64 + 128);
  // It is made in place of what it is made of, and the sums are in place.
  EXPECT_EQ(memory.at(commands[2]->getResult(0)).offset, first + 64 + 128);
  for (unsigned i = 0; i < 3; ++i)
    EXPECT_EQ(memory.at(commands[5]->getResult(i)).offset,
              memory.at(commands[4]->getOperand(i)).offset);
  EXPECT_EQ(memory.bound, 64 + 128 + 64 + 64); // and x, or y
}

// Else one that is returned would keep all others alive up to the end.
TEST(MemoryPlan, WhatOutlivesABucketLeavesItsBlock) {
  ProgramText text(bucketOf(kBucket, R"(
    %u = plan.launch @use(%s#0, %s#1) items [1] grain 1 inplace [-1] : (tensor<5xf32>, tensor<20xf32>) -> tensor<20xf32>
    %v = plan.launch @use(%u) items [1] grain 1 inplace [-1] : (tensor<20xf32>) -> tensor<20xf32>
    gradus.return %s#2 : tensor<5xf32>)"));
  GraphMemory memory = planned(text);
  auto commands = commandsOf(text.graph("train"));
  auto placeOf = [&](mlir::Value value) { return memory.at(value).offset; };
  EXPECT_EQ(placeOf(commands[5]->getResult(0)),
            placeOf(commands[0]->getResult(0)));
  EXPECT_NE(placeOf(commands[5]->getResult(2)),
            placeOf(commands[3]->getResult(0)));
  EXPECT_EQ(memory.bound, 64 + 128 + 64 + 64 + 128);
}

TEST(MemoryPlan, ABucketOfOneIsLikeAnyOtherValue) {
  ProgramText text(R"(
gradus.program @p {
  gradus.graph @train(%x: tensor<64xf32>) -> (y: tensor<64xf32>) {
    %a = plan.launch @k(%x) items [64] grain 64 inplace [0] : (tensor<64xf32>) -> tensor<64xf32>
    %token = plan.start %a number 0 : tensor<64xf32> -> tensor<0xi8>
    %s = plan.finish %token, %a number 0 : tensor<0xi8>, tensor<64xf32> -> tensor<64xf32>
    gradus.return %s : tensor<64xf32>
  }
})");
  EXPECT_EQ(planned(text).arena, 256);
}

/// A weight whose gradient is scattered, updated in parts and gathered.
static const char *const kParts = R"(
gradus.program @p {
  gradus.state @w : tensor<100xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @after : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<4xf32>) -> () {
    %w = gradus.read @w : tensor<100xf32>
    %own = gradus.part %w ranks 4 : tensor<100xf32> -> tensor<32xf32>
    %g = plan.launch @k(%x) items [100] grain 64 inplace [-1] : (tensor<4xf32>) -> tensor<100xf32>
    %begun = plan.start %g number 0 {parts = #gradus.parts<scatter ranks 4 unit 16>} : tensor<100xf32> -> tensor<0xi8>
    %sum = plan.finish %begun, %g number 0 : tensor<0xi8>, tensor<100xf32> -> tensor<100xf32>
    %part = gradus.part %sum ranks 4 : tensor<100xf32> -> tensor<32xf32>
    %new = plan.launch @k(%own, %part) items [32] grain 64 inplace [1] : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %alone = gradus.whole %new ranks 4 : tensor<32xf32> -> tensor<100xf32>
    %token = plan.start %alone number 1 {parts = #gradus.parts<gather ranks 4 unit 16>} : tensor<100xf32> -> tensor<0xi8>
    %all = plan.finish %token, %alone number 1 : tensor<0xi8>, tensor<100xf32> -> tensor<100xf32>
    gradus.write @w, %all : tensor<100xf32>
    gradus.return
  }
})";

/// There is room for all parts behind the end of what they are
/// parts of, and the whole update happens in the memory of the gradient.
TEST(MemoryPlan, PartsOfRanksLieInTheirWholes) {
  ProgramText text(kParts);
  StatePlaces places = placeStates(text.program());
  EXPECT_EQ(places.offsets["after"], 4 * 32 * 4);
  GraphMemory memory = planned(text);
  auto commands = commandsOf(text.graph("train"));
  mlir::Value gradient = commands[0]->getResult(0),
              sum = commands[2]->getResult(0),
              part = commands[3]->getOperand(1),
              updated = commands[3]->getResult(0),
              gathered = commands[5]->getResult(0);
  for (mlir::Value value : {sum, part, updated}) {
    EXPECT_EQ(memory.at(value).region, MemoryRegion::arena);
    EXPECT_EQ(memory.at(value).offset, memory.at(gradient).offset);
  }
  EXPECT_EQ(memory.at(gathered).region, MemoryRegion::state);
  EXPECT_TRUE(memory.copies.empty());
  EXPECT_EQ(memory.arena, 64 + 4 * 32 * 4); // the input and the gradient
}

/// Of 64 ranks, 100 elements are 7 parts of 16: there is no room for more, and
/// a part that becomes a state is copied as it is, not with its whole.
TEST(MemoryPlan, PartsAreNoMoreThanATensorHas) {
  std::string many = kParts;
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = many.find(from, at)) != std::string::npos;
         at += to.size())
      many.replace(at, from.size(), to);
  };
  replace("ranks 4", "ranks 64");
  replace("32xf32", "16xf32");
  replace("items [32]", "items [16]");
  replace(
      "gradus.state @after",
      R"(gradus.state @kept : tensor<16xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.state @after)");
  replace("gradus.write @w", R"(gradus.write @kept, %part : tensor<16xf32>
    gradus.write @w)");
  ProgramText text(many);
  EXPECT_EQ(placeStates(text.program()).offsets["after"], 7 * 64 + 64);
  GraphMemory memory = planned(text);
  ASSERT_EQ(memory.copies.size(), 1u);
  EXPECT_EQ(memory.copies[0].state, "kept");
  EXPECT_EQ(partsAt(memory.copies[0].source), 7);
}
