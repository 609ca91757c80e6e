#include "codegen/memory/buckets.h"

#include "tests/codegen/program_text.h"

using namespace gradus;
using mlir::Value;

namespace {

/// The second sum is of a sum of the first.
const char *const twoBuckets = R"(
gradus.program @p {
  gradus.graph @g(%x: tensor<16xf32>) -> (y: tensor<16xf32>) {
    %a = plan.launch @k(%x) items [1] grain 1 inplace [-1] : (tensor<16xf32>) -> tensor<16xf32>
    %b = plan.launch @k(%x) items [1] grain 1 inplace [-1] : (tensor<16xf32>) -> tensor<32xf32>
    %token = plan.start %a, %b number 0 : tensor<16xf32>, tensor<32xf32> -> tensor<0xi8>
    %s:2 = plan.finish %token, %a, %b number 0 : tensor<0xi8>, tensor<16xf32>, tensor<32xf32> -> tensor<16xf32>, tensor<32xf32>
    %c = plan.launch @k(%s#0) items [1] grain 1 inplace [0] : (tensor<16xf32>) -> tensor<16xf32>
    %d = plan.launch @k(%s#1) items [1] grain 1 inplace [-1] : (tensor<32xf32>) -> tensor<16xf32>
    %other = plan.start %c, %d number 1 : tensor<16xf32>, tensor<16xf32> -> tensor<0xi8>
    %t:2 = plan.finish %other, %c, %d number 1 : tensor<0xi8>, tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>, tensor<16xf32>
    %y = plan.launch @k(%t#0, %t#1) items [1] grain 1 inplace [0] : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    gradus.return %y : tensor<16xf32>
  }
})";

struct Planned {
  ProgramText text{twoBuckets};
  llvm::SmallVector<mlir::Operation *> commands = commandsOf(text.graph("g"));
  Buckets::Ranges ranges = liveRanges(text.graph("g"), commands);
  Buckets buckets{commands, ranges, [](Value) { return false; }};

  Value result(unsigned command, unsigned number = 0) {
    return commands[command]->getResult(number);
  }
  bool mayTakeOver(Value home, Value value) {
    return buckets.mayTakeOver(home, value, ranges[value]);
  }
};

} // namespace

TEST(Buckets, LayTheirMembersOneAfterTheOther) {
  Planned planned;
  planned.buckets.layOut([](Value value) { return value; });
  Buckets::Slot a = planned.buckets.slotOf(planned.result(0)),
                b = planned.buckets.slotOf(planned.result(1));
  EXPECT_EQ(a.block, b.block);
  EXPECT_EQ(a.offset, 0);
  EXPECT_EQ(b.offset, 64);
  EXPECT_EQ(a.size, 64 + 128);
  EXPECT_EQ(b.size, 64 + 128);
  Buckets::Slot y = planned.buckets.slotOf(planned.result(8));
  EXPECT_EQ(y.block, planned.result(8));
  EXPECT_EQ(y.size, 64);
}

TEST(Buckets, AMemberIsNotMadeInTheBlockOfAnotherBucket) {
  Planned planned;
  EXPECT_TRUE(planned.mayTakeOver(planned.result(0), planned.result(3)));
  EXPECT_FALSE(planned.mayTakeOver(planned.result(0), planned.result(4)));
}

TEST(Buckets, AMemberIsMadeInTheMemoryOfWhatHasItsSize) {
  Planned planned;
  Value x = planned.text.graph("g").getBody().getArgument(0);
  EXPECT_TRUE(planned.mayTakeOver(x, planned.result(0)));
  EXPECT_FALSE(planned.mayTakeOver(x, planned.result(1)));
}

TEST(Buckets, WhatOutlivesTheSumsLeaves) {
  Planned planned;
  EXPECT_TRUE(planned.mayTakeOver(planned.result(4), planned.result(7)));
  EXPECT_FALSE(planned.mayTakeOver(planned.result(4), planned.result(8)));
}
