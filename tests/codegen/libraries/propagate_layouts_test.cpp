// Work between convolutions runs on blocked channels, with the same result.

#include "tests/codegen/compiled_run.h"
#include "tests/codegen/nests/needs_onednn.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

const char *propagated = "select{library=always},propagate-layouts";

const std::string x = "tensor<2x32x6x6xf32>", w = "tensor<32x32x3x3xf32>",
                  window =
                      " strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] "
                      ": " +
                      x + ", " + w + " -> " + x + "\n";

/// Two convolutions with `between` between them, which makes %b of %a.
std::string between(const std::string &text, const std::string &more = "",
                    const std::string &types = "",
                    const std::string &results = "") {
  return graphProgram("%x: " + x + ", %w: " + w + ", %c: tensor<32xf32>, %m: " +
                          x + ") -> (y: " + x + types,
                      "%a = gradus.convolution %x, %w" + window + text +
                          "%y = gradus.convolution %b, %w" + window +
                          "gradus.return %y" + more + " : " + x + results);
}

void check(const std::string &program, int reorders) {
  NEEDS_ONEDNN();
  CompiledRun run(program);
  run.run(propagated);
  EXPECT_EQ(callsOf(run, "convolution"), 2);
  EXPECT_EQ(callsOf(run, "reorder"), reorders);
}

// x and w go in, y comes out.
constexpr int least = 3;

TEST(PropagateLayouts, ComputesElementwiseOpsInBlocks) {
  check(between("%0 = math.tanh %a : " + x + "\n%b = arith.mulf %0, %a : " + x +
                "\n"),
        least);
}

TEST(PropagateLayouts, MakesBroadcastsAndNumbersInBlocks) {
  check(between("%0 = gradus.broadcast %c dims [1] : tensor<32xf32> -> " + x +
                "\n%1 = arith.constant dense<0.5> : " + x +
                "\n%2 = arith.mulf %a, %0 : " + x +
                "\n%b = arith.addf %2, %1 : " + x + "\n"),
        least);
}

TEST(PropagateLayouts, SelectsByAMaskInBlocks) {
  check(between("%0 = arith.constant dense<0.0> : " + x +
                "\n%1 = arith.cmpf ogt, %a, %0 : " + x +
                "\n%b = arith.select %1, %a, %0 : tensor<2x32x6x6xi1>, " + x +
                "\n"),
        least);
}

TEST(PropagateLayouts, ReducesBlocks) {
  check(between("%s = gradus.reduce sum %a axes [0, 2, 3] : " + x +
                    " -> tensor<32xf32>\n%t = gradus.reduce mean %a axes [2, "
                    "3] : " +
                    x +
                    " -> tensor<2x32xf32>\n%u = gradus.reduce max %a axes "
                    "[1] : " +
                    x + " -> tensor<2x6x6xf32>\n%b = gradus.relu %a : " + x +
                    "\n",
                ", %s, %t, %u",
                ", s: tensor<32xf32>, t: tensor<2x32xf32>, u: "
                "tensor<2x6x6xf32>",
                ", tensor<32xf32>, tensor<2x32xf32>, tensor<2x6x6xf32>"),
        least);
}

// Wide numbers, which the library does not reorder, are made of blocks; so are
// masks.
TEST(PropagateLayouts, ComputesAgainWhatItCannotReorder) {
  const std::string f64 = "tensor<2x32x6x6xf64>";
  check(between("%0 = arith.extf %m : " + x + " to " + f64 +
                "\n%1 = arith.extf %a : " + x + " to " + f64 +
                "\n%2 = arith.mulf %0, %1 : " + f64 +
                "\n%3 = arith.truncf %2 : " + f64 + " to " + x +
                "\n%4 = arith.cmpf ogt, %m, %3 : " + x +
                "\n%b = arith.select %4, %3, %a : tensor<2x32x6x6xi1>, " + x +
                "\n"),
        least + 1);
}

// Numbers that are made of one of 16 bits are made of its blocks, which are
// half as large; of two such tensors they are reordered themselves.
TEST(PropagateLayouts, ReordersTheNarrowNumbersThatOthersAreMadeOf) {
  NEEDS_ONEDNN();
  const std::string narrow = "tensor<2x32x6x6xbf16>",
                    rounded = "%r = arith.truncf %m : " + x + " to " + narrow +
                              "\n%e = arith.extf %r : " + narrow + " to " + x +
                              "\n";
  auto reorders = [&](const std::string &text) {
    PlanCheck plan(between(rounded + text), propagated);
    std::vector<mlir::Type> moved;
    plan.graph("g").walk([&](plan::LibraryOp op) {
      if (op.getCall() == "reorder" &&
          shapeOf(op.getOperands()[0]) == llvm::ArrayRef<int64_t>{2, 32, 6, 6})
        moved.push_back(mlir::getElementTypeOrSelf(op.getOperands()[0]));
    });
    return moved;
  };
  auto are16 = [](mlir::Type type) { return type.isBF16(); };
  auto one =
      reorders("%h = math.exp %e : " + x + "\n%0 = arith.mulf %a, %h : " + x +
               "\n%b = arith.addf %0, %e : " + x + "\n");
  EXPECT_EQ(llvm::count_if(one, are16), 1);
  EXPECT_EQ(one.size(), 2u); // and x
  auto two =
      reorders("%h = math.exp %m : " + x + "\n%q = arith.truncf %h : " + x +
               " to " + narrow + "\n%f = arith.extf %q : " + narrow + " to " +
               x + "\n%g = arith.mulf %e, %f : " + x +
               "\n%b = arith.addf %a, %g : " + x + "\n");
  EXPECT_EQ(llvm::count_if(two, are16), 0);
  EXPECT_EQ(two.size(), 2u);
}

// What is computed of the sums of channels is computed in their shape, so that
// it can be one nest with them.
TEST(PropagateLayouts, ComputesWithSumsOfBlocksInTheirShape) {
  NEEDS_ONEDNN();
  const std::string program =
      between("%s = gradus.reduce sum %a axes [0, 2, 3] : " + x +
                  " -> tensor<32xf32>\n%0 = math.tanh %s : tensor<32xf32>\n"
                  "%1 = gradus.broadcast %0 dims [1] : tensor<32xf32> -> " +
                  x + "\n%b = arith.mulf %a, %1 : " + x + "\n",
              ", %0", ", s: tensor<32xf32>", ", tensor<32xf32>");
  CompiledRun run(program);
  run.run(propagated);
  EXPECT_EQ(callsOf(run, "reorder"), least);
  PlanCheck plan(program, propagated);
  plan.graph("g").walk([](mlir::math::TanhOp op) {
    EXPECT_EQ(shapeOf(op.getResult()), llvm::ArrayRef<int64_t>({2, 16}));
  });
}

const std::string last = "tensor<2x6x6x32xf32>",
                  turn = "%t = gradus.transpose %a perm [0, 2, 3, 1] : " + x +
                         " -> " + last + "\n",
                  back =
                      "%b = gradus.transpose %e perm [0, 3, 1, 2] : " + last +
                      " -> " + x + "\n";

int transposesIn(const std::string &program) {
  PlanCheck plan(program, propagated);
  int count = 0;
  plan.graph("g").walk([&](TransposeOp) { ++count; });
  return count;
}

// A layer norm of channels, as it is exported: between two transposes.
TEST(PropagateLayouts, NormalizesChannelsInBlocks) {
  NEEDS_ONEDNN();
  const std::string program = between(
      turn + "%s = gradus.reduce mean %t axes [3] : " + last +
      " -> tensor<2x6x6xf32>\n%m0 = gradus.reshape %s : tensor<2x6x6xf32> -> "
      "tensor<2x6x6x1xf32>\n%m1 = gradus.broadcast %m0 dims [0, 1, 2, 3] : "
      "tensor<2x6x6x1xf32> -> " +
      last + "\n%d = arith.subf %t, %m1 : " + last +
      "\n%g = gradus.broadcast %c dims [3] : tensor<32xf32> -> " + last +
      "\n%h = arith.constant dense<0.5> : " + last +
      "\n%f = arith.mulf %d, %g : " + last +
      "\n%e = arith.addf %f, %h : " + last + "\n" + back);
  check(program, least);
  EXPECT_EQ(transposesIn(program), 0);
}

TEST(PropagateLayouts, KeepsTransposesWithWhatIsPlain) {
  NEEDS_ONEDNN();
  const std::string program =
      between(turn + "%o = gradus.reshape %m : " + x + " -> " + last +
              "\n%e = arith.addf %t, %o : " + last + "\n" + back);
  check(program, least + 2);
  EXPECT_EQ(transposesIn(program), 2);
}

// The axes that a sum leaves would be in another order.
TEST(PropagateLayouts, KeepsTransposesBeforeOtherSums) {
  NEEDS_ONEDNN();
  const std::string program =
      between(turn + "%s = gradus.reduce sum %t axes [1] : " + last +
                  " -> tensor<2x6x32xf32>\n%b = gradus.relu %a : " + x + "\n",
              ", %s", ", s: tensor<2x6x32xf32>", ", tensor<2x6x32xf32>");
  check(program, least + 1);
  EXPECT_EQ(transposesIn(program), 1);
}

// The window sees the block as a third dimension; numbers in it stay the same.
TEST(PropagateLayouts, PoolsBlocks) {
  const std::string geometry =
      " window [3, 3] strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]";
  const std::string i = "tensor<2x32x6x6xi32>";
  check(between("%p, %i = gradus.max_pool %a" + geometry + " : " + x + " -> " +
                x + ", " + i + "\n%q = gradus.average_pool %p" + geometry +
                " : " + x + " -> " + x +
                "\n%r = gradus.max_pool_backward %q, %i" + geometry + " : " +
                x + ", " + i + " -> " + x +
                "\n%b = gradus.average_pool_backward %r" + geometry +
                " count_include_pad : " + x + " -> " + x + "\n"),
        least);
}

// Each mask has two readers, which would double the copies with each link.
TEST(PropagateLayouts, ComputesAChainOfMasksOnce) {
  NEEDS_ONEDNN();
  const std::string mask = "tensor<2x32x6x6xi1>";
  std::string chain = "%m0 = arith.cmpf ogt, %x, %m : " + x + "\n";
  constexpr int links = 40;
  for (int i = 0; i < links; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    chain += "%k" + n + " = arith.constant dense<" + n + ".5> : " + x + "\n%c" +
             n + " = arith.cmpf ogt, %m, %k" + n + " : " + x + "\n%p" + n +
             " = arith.andi %m" + n + ", %c" + n + " : " + mask + "\n%q" + n +
             " = arith.xori %m" + n + ", %c" + n + " : " + mask + "\n%m" +
             next + " = arith.ori %p" + n + ", %q" + n + " : " + mask + "\n";
  }
  PlanCheck plan(between(chain + "%z = arith.constant dense<0.0> : " + x +
                         "\n%b = arith.select %m" + std::to_string(links) +
                         ", %a, %z : " + mask + ", " + x + "\n"),
                 propagated);
  int ors = 0;
  plan.graph("g").walk([&](mlir::arith::OrIOp) { ++ors; });
  EXPECT_EQ(ors, links);
}

// A fourth dimension of the window is more than a pool has.
TEST(PropagateLayouts, LeavesPoolsOfVolumesPlain) {
  NEEDS_ONEDNN();
  const std::string v = "tensor<1x16x4x4x4xf32>", k = "tensor<16x16x3x3x3xf32>",
                    triple =
                        " strides [1, 1, 1]"
                        " pads [1, 1, 1] to [1, 1, 1] dilations [1, 1, 1] ",
                    slides = triple + ": " + v + ", " + k + " -> " + v + "\n";
  CompiledRun run(graphProgram(
      "%x: " + v + ", %w: " + k + ") -> (y: " + v,
      "%a = gradus.convolution %x, %w" + slides +
          "%b = gradus.average_pool %a window [3, 3, 3]" + triple + ": " + v +
          " -> " + v + "\n%y = gradus.convolution %b, %w" + slides +
          "gradus.return %y : " + v));
  run.run(propagated);
}

TEST(PropagateLayouts, ReordersWhatComesFromOutside) {
  check(between("%b = arith.addf %a, %m : " + x + "\n"), least + 1);
}

TEST(PropagateLayouts, KeepsAPlainResultThatIsReturned) {
  check(
      between("%b = math.tanh %a : " + x + "\n", ", %b", ", b: " + x, ", " + x),
      least + 1);
}

TEST(PropagateLayouts, IsContentToRunTwice) {
  NEEDS_ONEDNN();
  CompiledRun run(between("%b = math.tanh %a : " + x + "\n"));
  run.run(std::string(propagated) + ",propagate-layouts");
  EXPECT_EQ(callsOf(run, "reorder"), least);
}

} // namespace
