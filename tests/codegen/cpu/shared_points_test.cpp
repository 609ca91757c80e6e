// Long elementwise nests that do the same at each position: one function of
// machine code for all of them, whatever their sizes and distances.

#include "tests/codegen/kernel_text.h"
#include "tests/codegen/plan/nest_reference.h"

#include "codegen/cpu/shared_points.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// A region of so many ops, each of which needs the one before.
std::string chain(int64_t ops, int64_t inputs) {
  std::string text = "  ^bb0(";
  for (int64_t i = 0; i < inputs; ++i)
    text += (i ? ", %a" : "%a") + std::to_string(i) + ": f32";
  text += "):\n    %s0 = arith.addf %a0, %a0 : f32\n";
  for (int64_t i = 1; i < ops; ++i)
    text += "    %s" + std::to_string(i) + " = arith.subf %a" +
            std::to_string(i % inputs) + ", %s" + std::to_string(i - 1) +
            " : f32\n";
  return text + "    plan.yield %s" + std::to_string(ops - 1) + ", %s" +
         std::to_string(ops - 2) + " : f32, f32\n";
}

/// y[r, c] and y[r + rows, c] from x[r .. r + reads - 1, c] and b[c].
NestText nest(int64_t rows, int64_t width, int64_t ops = 80,
              int64_t reads = 3) {
  NestText nest{{rows, width}, {}, {}, {}, {}, {}, "", chain(ops, reads + 1)};
  auto at = [&](int64_t row) {
    return "(m, n) -> (m + " + std::to_string(row) + ", n)";
  };
  for (int64_t row = 0; row < reads; ++row)
    nest.with.push_back({"%x", buffer({rows + reads - 1, width}), at(row)});
  nest.with.push_back({"%b", buffer({width}), "(m, n) -> (n)"});
  nest.outs = {{"%y", buffer({2 * rows, width}), at(0)},
               {"%y", buffer({2 * rows, width}), at(rows)}};
  return nest;
}

std::string kernelOfRows(int64_t rows, int64_t width, int64_t ops = 80,
                         std::string suffix = "", int64_t reads = 3) {
  Operands arguments = {{"%x", buffer({rows + reads - 1, width}), ""},
                        {"%b", buffer({width}), ""},
                        {"%y", buffer({2 * rows, width}), ""}};
  std::string name =
      "k" + std::to_string(rows) + "x" + std::to_string(width) + suffix;
  return kernel(name, arguments, 2, "rows", rows,
                nest(rows, width, ops, reads).text());
}

/// How many nests call functions, and how many functions there are.
std::pair<size_t, size_t> calls(const std::string &text, const char *name) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  CpuTarget target = llvm::cantFail(cpuTarget(name));
  SharedPoints points(kernels, target);
  size_t calls = 0;
  module->walk([&](plan::NestOp op) { calls += points.find(op).has_value(); });
  return {calls, points.functions().size()};
}

/// The pointer that the calls of the first nest ask for.
int askedOf(const std::string &text) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  auto kernel = *module->getOps<plan::KernelOp>().begin();
  plan::NestOp op = *kernel.getBody().getOps<plan::NestOp>().begin();
  Nest nest = readNest(op, kernel.getSplit());
  CpuTarget target = llvm::cantFail(cpuTarget("cpu:x86-64-v4"));
  return PointForm::of(nest, chooseTiling(nest, target)).value().asked;
}

size_t codeSize(const std::string &text) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  CpuTarget target = llvm::cantFail(cpuTarget("cpu:x86-64-v3"));
  return llvm::cantFail(emitCpu(kernels, target)).code.size();
}

using Counts = std::pair<size_t, size_t>;

} // namespace

TEST(SharedPoints, ComputeWhatEachNestWould) {
  KernelCheck().run(kernelOfRows(3, 32) + kernelOfRows(5, 64) +
                    kernelOfRows(4, 16) + kernelOfRows(2, 48));
}

// The function's table is empty.
TEST(SharedPoints, MayHaveEqualDistances) {
  KernelCheck().run(kernelOfRows(4, 16) + kernelOfRows(4, 16, 80, "_again"));
}

TEST(SharedPoints, AreThoseOfEqualOps) {
  const char *target = "cpu:x86-64-v4";
  EXPECT_EQ(calls(kernelOfRows(3, 32), target), Counts(0, 0));
  EXPECT_EQ(calls(kernelOfRows(3, 32) + kernelOfRows(5, 64), target),
            Counts(2, 1));
  EXPECT_EQ(calls(kernelOfRows(3, 32) + kernelOfRows(5, 64, 81), target),
            Counts(0, 0));
}

TEST(SharedPoints, HaveManyOps) {
  EXPECT_EQ(
      calls(kernelOfRows(3, 32, 20) + kernelOfRows(5, 64, 20), "cpu:x86-64-v4"),
      Counts(0, 0));
}

// The last vector of each row would be a part of one.
TEST(SharedPoints, AreWholeVectors) {
  EXPECT_EQ(calls(kernelOfRows(3, 40) + kernelOfRows(5, 72), "cpu:x86-64-v4"),
            Counts(0, 0));
}

// Nine rows of the first argument lie apart, at each position.
TEST(SharedPoints, AskForManyReadsOfAnArgument) {
  EXPECT_EQ(askedOf(kernelOfRows(3, 32, 80, "", 9)), 0);
  EXPECT_EQ(askedOf(kernelOfRows(3, 32)), -1);
}

TEST(SharedPoints, DoNotAskForScratch) {
  std::string text = nest(3, 32, 80, 9).text();
  for (size_t at; (at = text.find("%x")) != std::string::npos;)
    text.replace(at, 2, "%scratch");
  Operands arguments = {{"%b", buffer({32}), ""}, {"%y", buffer({6, 32}), ""}};
  EXPECT_EQ(askedOf(kernel("k", arguments, 1, "rows", 3,
                           "  %scratch = plan.scratch : " + buffer({11, 32}) +
                               "\n" + text)),
            -1);
}

// The addresses that are asked for at the last positions lie behind the
// argument.
TEST(SharedPoints, ComputeTheSameIfTheyAsk) {
  KernelCheck().run(kernelOfRows(3, 32, 80, "", 9) +
                    kernelOfRows(5, 64, 80, "", 9) +
                    kernelOfRows(1, 16, 80, "", 9));
}

TEST(SharedPoints, CostTheCodeOfOne) {
  std::string one = kernelOfRows(3, 32), all = one;
  for (int64_t rows : {4, 5, 6, 7})
    all += kernelOfRows(rows, 64);
  EXPECT_LT(codeSize(all), 3 * codeSize(one));
}
