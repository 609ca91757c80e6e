// Wide results of 16-bit numbers are computed where they are read: what is
// stored is narrow, and the numbers are those of the evaluator.

#include "tests/codegen/compiled_run.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

const char *fused = "lower-to-nests,fuse";
const std::string x = "tensor<7x13x71xf32>", b = "tensor<7x13x71xbf16>",
                  rows = "tensor<13xf32>";

/// `x` rounded behind work that is not repeated.
const std::string rounded = "%h = math.tanh %x : " + x +
                            "\n%b = arith.truncf %h : " + x + " to " + b +
                            "\n%w = arith.extf %b : " + b + " to " + x + "\n";

/// Sums of `name` over all but the channels, for all elements again.
std::string sums(const std::string &name, const std::string &as) {
  return "%of_" + as + " = gradus.reduce sum %" + name + " axes [0, 2] : " + x +
         " -> " + rows + "\n%" + as + " = gradus.broadcast %of_" + as +
         " dims [1] : " + rows + " -> " + x + "\n";
}

struct Stored {
  int wide = 0, narrow = 0;
};

/// The results of nests with a number for each element.
Stored storedBy(const std::string &program, const std::string &passes) {
  PlanCheck check(program, passes);
  Stored stored;
  check.graph("g").walk([&](plan::NestOp nest) {
    for (mlir::Value result : nest.getResults())
      if (product(shapeOf(result)) >= 7 * 13 * 71)
        (mlir::getElementTypeOrSelf(result).isBF16() ? stored.narrow
                                                     : stored.wide)++;
  });
  return stored;
}

void expectStored(const std::string &program, int wide, int narrow,
                  double tolerance = 1e-5) {
  CompiledRun(program).run(fused, tolerance);
  Stored stored = storedBy(program, fused);
  EXPECT_EQ(stored.wide, wide) << program;
  EXPECT_EQ(stored.narrow, narrow) << program;
}

/// A program whose output is of `out`, in f32.
std::string programOf(const std::string &body, const std::string &more = "",
                      const std::string &types = "",
                      const std::string &results = "") {
  return graphProgram("%x: " + x + ", %v: " + x + ") -> (y: " + x + types,
                      rounded + body + "gradus.return %y" + more + " : " + x +
                          results);
}

// An exponential that is summed and divided by its sum is computed twice; only
// the rounded numbers and the output are stored.
TEST(FromNarrow, ReadersComputeAnExponential) {
  const std::string program =
      programOf("%e = math.exp %w : " + x + "\n" + sums("e", "s") +
                "%y = arith.divf %e, %s : " + x + "\n");
  expectStored(program, 1, 1);
  EXPECT_EQ(storedBy(program, "lower-to-nests,fuse{work-again=0}").wide, 2);
}

// A normalization and what is made of its rounded result come from one tensor.
TEST(FromNarrow, SeveralResultsShareTheirSource) {
  expectStored(programOf(sums("w", "s") + "%c = arith.subf %w, %s : " + x +
                         "\n%e = math.exp %c : " + x + "\n" + sums("e", "t") +
                         "%f = arith.mulf %c, %e : " + x + "\n" +
                         sums("f", "u") + "%p = arith.divf %e, %t : " + x +
                         "\n%q = arith.addf %c, %u : " + x +
                         "\n%y = arith.mulf %p, %q : " + x + "\n"),
               1, 1, 5e-3); // of hundreds
}

// Behind much work of wide numbers, the rounded one is stored instead of two
// wide ones, and once.
TEST(FromNarrow, StoresOneRoundedNumber) {
  const std::string work = "%k = math.tanh %v : " + x +
                           "\n%l = arith.mulf %k, "
                           "%w : " +
                           x + "\n%m = arith.truncf %l : " + x + " to " + b +
                           "\n%n = arith.extf %m : " + b + " to " + x +
                           "\n%e = math.exp %n : " + x +
                           "\n%f = math.sin %n : " + x + "\n";
  expectStored(programOf(work + sums("e", "s") + sums("f", "t") +
                         "%p = arith.divf %e, %s : " + x +
                         "\n%q = arith.mulf %f, %t : " + x +
                         "\n%y = arith.addf %p, %q : " + x + "\n"),
               1, 1);
}

// Of wide numbers, of two narrow tensors, and after too much work, a result is
// stored as it is; and so is an output.
TEST(FromNarrow, OthersAreStored) {
  auto summed = [](const std::string &work) {
    return programOf(work + sums("e", "s") + "%y = arith.divf %e, %s : " + x +
                     "\n");
  };
  EXPECT_EQ(storedBy(summed("%a = arith.addf %w, %v : " + x +
                            "\n%e = math.exp %a : " + x + "\n"),
                     fused)
                .wide,
            2);
  EXPECT_EQ(storedBy(summed("%k = math.sin %v : " + x +
                            "\n%l = arith.truncf %k : " + x + " to " + b +
                            "\n%m = arith.extf %l : " + b + " to " + x +
                            "\n%a = arith.addf %w, %m : " + x +
                            "\n%e = math.exp %a : " + x + "\n"),
                     fused)
                .wide,
            2);
  EXPECT_EQ(
      storedBy(summed("%k = math.sin %w : " + x + "\n%l = math.cos %k : " + x +
                      "\n%e = math.exp %l : " + x + "\n"),
               fused)
          .wide,
      2);
  EXPECT_EQ(
      storedBy(programOf("%e = math.exp %w : " + x + "\n" + sums("e", "s") +
                             "%y = arith.divf %e, %s : " + x + "\n",
                         ", %e", ", e: " + x, ", " + x),
               fused)
          .wide,
      2);
}

// Readers would run across what is stored in another order: the result is
// stored in its own, rounded where that is the same.
TEST(FromNarrow, ReadersKeepTheOrderOfElements) {
  const std::string turned = "tensor<71x7x13xf32>",
                    order = " perm [2, 0, 1] : " + x + " -> " + turned;
  const std::string program = graphProgram(
      "%x: " + x + ") -> (y: " + turned,
      rounded + "%r = gradus.reduce sum %w axes [0, 2] : " + x + " -> " + rows +
          "\n%c = gradus.broadcast %r dims [1] : " + rows + " -> " + x +
          "\n%m = arith.mulf %w, %c : " + x + "\n%t = gradus.transpose %m" +
          order + "\n%e = math.exp %t : " + turned +
          "\n%s = gradus.reduce sum %e axes [0, 1] : " + turned + " -> " +
          rows + "\n%d = gradus.broadcast %s dims [2] : " + rows + " -> " +
          turned + "\n%y = arith.divf %e, %d : " + turned +
          "\ngradus.return %y : " + turned);
  expectStored(program, 2, 1);
}

TEST(FromNarrow, IsContentToRunTwice) {
  const std::string program =
      programOf("%e = math.exp %w : " + x + "\n" + sums("e", "s") +
                "%y = arith.divf %e, %s : " + x + "\n");
  Stored once = storedBy(program, fused),
         twice = storedBy(program, "lower-to-nests,fuse,fuse");
  EXPECT_EQ(once.wide, twice.wide);
  EXPECT_EQ(once.narrow, twice.narrow);
}

} // namespace
