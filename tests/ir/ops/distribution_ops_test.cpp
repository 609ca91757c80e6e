// Sums over ranks: what one rank computes, what it sends, what may join.

#include "tests/ir/graphs.h"

#include <cmath>

using namespace mlir;
using namespace gradus;
using namespace gradus::testing;

TEST(AllReduce, IsTheOperandOnOneRank) {
  auto sums = evaluate(
      "%a: tensor<2xf64>, %n: tensor<i64>",
      "%x, %y = gradus.all_reduce %a, %n : tensor<2xf64>, tensor<i64> -> "
      "tensor<2xf64>, tensor<i64>",
      {floats({2}, {1, 2}), integers({}, {3})});
  EXPECT_EQ(sums[0].floats, (std::vector<double>{1, 2}));
  EXPECT_EQ(sums[1].integers, (std::vector<int64_t>{3}));
}

static AllReduceOp lastSum(const OwningOpRef<ModuleOp> &module) {
  return cast<AllReduceOp>(lastOp(graphOf(*module)));
}

// A rank sends all but its own part, and then its part to all others.
TEST(AllReduce, SendsEachElementTwiceButTheOwn) {
  auto module = parseGraph("%a: tensor<6xf32>, %b: tensor<4xf16>",
                           "%x, %y = gradus.all_reduce %a, %b : tensor<6xf32>, "
                           "tensor<4xf16> -> tensor<6xf32>, tensor<4xf16>");
  AllReduceOp sum = lastSum(module);
  EXPECT_EQ(sum.getSentBytes(1), 0);
  EXPECT_EQ(sum.getSentBytes(2), 32);
  EXPECT_EQ(sum.getSentBytes(4), 48);
}

/// With powers of two as a sum does; six groups have two pairs, which exchange
/// halves, give a half and get all.
TEST(AllReduce, SendsInGroupsWhatEachRankNeeds) {
  auto sent = [](const std::string &groups, int64_t ranks) {
    auto module = parseGraph("%a: tensor<12xf32>",
                             "%x = gradus.all_reduce %a {groups = "
                             "#gradus.groups<" +
                                 groups +
                                 " epsilon 0.0 : f64>} : tensor<12xf32> -> "
                                 "tensor<12xf32>");
    return lastSum(module).getSentBytes(ranks);
  };
  EXPECT_DOUBLE_EQ(sent("within 1 mean across adasum", 1), 0);
  EXPECT_DOUBLE_EQ(sent("within 1 mean across adasum", 4), 72);
  EXPECT_DOUBLE_EQ(sent("within 2 mean across adasum", 4), 72);
  EXPECT_DOUBLE_EQ(sent("within 2 mean across nothing", 4), 48);
  EXPECT_DOUBLE_EQ(sent("within 0 mean across adasum_of_all", 3), 64);
  EXPECT_DOUBLE_EQ(sent("within 1 mean across adasum", 6),
                   48 * (4 * 1.5 + 2 * 2.5) / 6);
}

static OwningOpRef<ModuleOp> halfOfASum(const std::string &half) {
  return parseGraph("%a: tensor<32xf32>",
                    "%x = gradus.all_reduce %a {parts = #gradus.parts<" + half +
                        " ranks 2 unit 16>} : tensor<32xf32> -> "
                        "tensor<32xf32>");
}

TEST(AllReduce, SendsHalfAsMuchForHalfOfASum) {
  for (const char *half : {"scatter", "gather"}) {
    auto module = halfOfASum(half);
    EXPECT_DOUBLE_EQ(lastSum(module).getSentBytes(2), 64) << half;
    EXPECT_DOUBLE_EQ(lastSum(module).getSentBytes(4), 96) << half;
  }
}

// Behind the first half each rank has something else.
TEST(AllReduce, GivesAllTheSameButInItsFirstHalf) {
  auto scatter = halfOfASum("scatter"), gather = halfOfASum("gather");
  EXPECT_FALSE(lastSum(scatter).isSharedByAll());
  EXPECT_TRUE(lastSum(gather).isSharedByAll());
  EXPECT_FALSE(lastSum(gather).isWhole());
  EXPECT_FALSE(lastSum(scatter).mayJoin(lastSum(gather)));
  EXPECT_TRUE(lastSum(gather).mayJoin(lastSum(gather)));
}

TEST(AllReduce, JoinsOthersOfItsTypeAlongTheSameAxis) {
  auto one = parseGraph("%a: tensor<f32>", "%x = gradus.all_reduce %a : "
                                           "tensor<f32> -> tensor<f32>");
  auto two = parseGraph("%a: tensor<f32>", "%x = gradus.all_reduce %a along "
                                           "\"rows\" : tensor<f32> -> "
                                           "tensor<f32>");
  auto half = parseGraph("%a: tensor<f16>", "%x = gradus.all_reduce %a : "
                                            "tensor<f16> -> tensor<f16>");
  EXPECT_FALSE(lastSum(one).mayJoin(lastSum(half)));
  EXPECT_TRUE(lastSum(one).mayJoin(lastSum(one)));
  EXPECT_FALSE(lastSum(one).mayJoin(lastSum(two)));
  EXPECT_FALSE(lastSum(one).mayJoin(graphOf(*one)));
  auto inGroups = [](const char *across) {
    return parseGraph("%a: tensor<f32>",
                      std::string("%x = gradus.all_reduce %a {groups = "
                                  "#gradus.groups<within 1 mean across ") +
                          across +
                          " epsilon 0.0 : f64>} : tensor<f32> -> tensor<f32>");
  };
  auto each = inGroups("adasum"), all = inGroups("adasum_of_all");
  EXPECT_FALSE(lastSum(one).mayJoin(lastSum(each)));
  EXPECT_TRUE(lastSum(each).mayJoin(lastSum(each)));
  EXPECT_FALSE(lastSum(all).mayJoin(lastSum(all))) << "one vector each";
}

// The gradient of a result that nothing uses is not sent.
TEST(AllReduce, SharesTheGradientsThatThereAre) {
  auto module = parseGraph("%a: tensor<2xf64>, %b: tensor<3xf64>",
                           "%x, %y = gradus.all_reduce %a, %b : tensor<2xf64>, "
                           "tensor<3xf64> -> tensor<2xf64>, tensor<3xf64>");
  AllReduceOp sum = lastSum(module);
  OpBuilder builder(sum->getBlock()->getTerminator());
  Value seed = graphOf(*module).getBody().getArgument(1);
  auto gradients = sum.pullback(builder, {Value(), seed});
  EXPECT_FALSE(gradients[0]);
  auto shared = gradients[1].getDefiningOp<AllReduceOp>();
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared.getOperands(), ValueRange(seed));
}

TEST(AllReduce, GathersEachPartOnce) {
  auto module = parseGraph(
      "%a: tensor<4x16xf32>",
      "%x = gradus.all_reduce %a {groups = #gradus.groups<within 1 sum across "
      "gather epsilon 0.0 : f64>} : tensor<4x16xf32> -> tensor<4x16xf32>");
  EXPECT_EQ(lastSum(module).getSentBytes(4), 192);
  EXPECT_TRUE(lastSum(module).isSharedByAll());
}

// Of equal ones the first are taken, and a NaN before all others.
TEST(SelectLargest, GivesIndicesInOrderWithTheirValues) {
  auto found = evaluate("%x: tensor<6xf64>",
                        "%i, %y = gradus.select_largest %x : tensor<6xf64> -> "
                        "tensor<3xi32>, tensor<3xf64>",
                        {floats({6}, {1, -2, 0, 2, -2, 1})});
  EXPECT_EQ(found[0].integers, (std::vector<int64_t>{1, 3, 4}));
  EXPECT_EQ(found[1].floats, (std::vector<double>{-2, 2, -2}));
  found = evaluate("%x: tensor<3xf64>",
                   "%i, %y = gradus.select_largest %x : tensor<3xf64> -> "
                   "tensor<1xi32>, tensor<1xf64>",
                   {floats({3}, {INFINITY, NAN, 1})});
  EXPECT_EQ(found[0].integers, (std::vector<int64_t>{1}));
}

TEST(SelectLargest, LeavesOutWhatIsSmallerThanTheThreshold) {
  auto found = evaluate("%x: tensor<4xf64>, %t: tensor<f64>",
                        "%i, %y = gradus.select_largest %x from %t : "
                        "tensor<4xf64> from tensor<f64> -> tensor<3xi32>, "
                        "tensor<3xf64>",
                        {floats({4}, {1, -2, 0.5, 1}), floats({}, {1.5})});
  EXPECT_EQ(found[0].integers, (std::vector<int64_t>{1, 4, 4}));
  EXPECT_EQ(found[1].floats, (std::vector<double>{-2, 0, 0}));
}
