// Equal nests: one function of machine code for all of them, wherever their
// buffers begin.

#include "tests/codegen/kernel_text.h"
#include "tests/codegen/plan/nest_reference.h"

#include "codegen/kernels/shared_nests.h"

using namespace gradus;
using namespace gradus::test;

namespace {

constexpr int64_t kRows = 8;

/// y = before * w / 8 + x[step], as a step of a recurrent layer; rows of
/// `before` and `y` alone where they are scratch.
NestText step(int64_t number, int64_t steps, int64_t width, std::string before,
              std::string y, bool scratch) {
  auto state = [&](std::string value, std::string dims, std::string column) {
    bool isScratch =
        scratch && value != "%y0" && value != "%y" + std::to_string(steps);
    return Operand{value, isScratch ? buffer({width}) : buffer({kRows, width}),
                   dims + " -> (" + (isScratch ? "" : "m, ") + column + ")"};
  };
  std::string at = std::to_string(number);
  NestText nest{{kRows, width}, {width}, {}, {}, {}, {"sum"}, product, ""};
  nest.ins = {state(before, "(m, n, k)", "k"),
              {"%w", buffer({width, width}), "(m, n, k) -> (k, n)"}};
  nest.with = {
      {"%x", buffer({steps, kRows, width}), "(m, n) -> (" + at + ", m, n)"}};
  nest.outs = {state(y, "(m, n)", "n")};
  nest.then = R"(
  ^bb0(%sum: f32, %bias: f32):
    %c = arith.constant 0.125 : f32
    %s = arith.mulf %sum, %c : f32
    %z = arith.addf %s, %bias : f32
    plan.yield %z : f32
)";
  return nest;
}

std::string name(int64_t number) { return "%y" + std::to_string(number); }

/// A chain of steps in one kernel; between them rows of scratch or arguments.
std::string steps(int64_t count, int64_t width, std::string split,
                  bool scratch) {
  Operands arguments = {{"%x", buffer({count, kRows, width}), ""},
                        {"%w", buffer({width, width}), ""},
                        {"%y0", buffer({kRows, width}), ""}};
  std::string body;
  for (int64_t i = 1; i < count; ++i)
    if (scratch)
      body += "  " + name(i) + " = plan.scratch : " + buffer({width}) + "\n";
    else
      arguments.push_back({name(i), buffer({kRows, width}), ""});
  arguments.push_back({name(count), buffer({kRows, width}), ""});
  for (int64_t i = 0; i < count; ++i)
    body += step(i, count, width, name(i), name(i + 1), scratch).text();
  return kernel("steps", arguments, 3, split, split == "rows" ? kRows : 1,
                body);
}

size_t codeSize(const std::string &text) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  CpuTarget target = llvm::cantFail(cpuTarget("cpu:x86-64-v3"));
  return llvm::cantFail(emitCpu(kernels, target)).code.size();
}

/// How many of the nests of some kernels are calls, and of how many functions.
std::pair<size_t, size_t> calls(const std::string &text) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  SharedNests nests(kernels);
  size_t calls = 0;
  llvm::DenseSet<unsigned> functions;
  module->walk([&](plan::NestOp nest) {
    if (auto number = nests.find(nest)) {
      ++calls;
      functions.insert(*number);
    }
  });
  return {calls, functions.size()};
}

using Counts = std::pair<size_t, size_t>;

} // namespace

TEST(SharedNests, ComputeWhatEachWould) {
  for (int64_t width : {16, 5})
    for (bool scratch : {false, true}) {
      KernelCheck().run(steps(7, width, "rows", scratch));
      if (!scratch)
        KernelCheck().run(steps(7, width, "serial", scratch));
    }
}

// Kernels of more than 128 nests are functions that call those of parts.
TEST(SharedNests, ComputeWhatEachWouldInPartsOfAKernel) {
  for (bool scratch : {false, true})
    KernelCheck().run(steps(150, 16, "rows", scratch));
  KernelCheck().run(steps(150, 16, "serial", false));
}

TEST(SharedNests, CostTheCodeOfOne) {
  size_t few = codeSize(steps(5, 16, "rows", false));
  size_t many = codeSize(steps(50, 16, "rows", false));
  EXPECT_LT(many, 3 * few);
}

TEST(SharedNests, AreThoseThatAreManyAndEqual) {
  EXPECT_EQ(calls(steps(1, 16, "rows", false)), Counts(0, 0));
  EXPECT_EQ(calls(steps(2, 16, "rows", false)), Counts(2, 1));
  EXPECT_EQ(calls(steps(9, 16, "rows", false)), Counts(9, 1));
  // Offsets of 40 elements are not all aligned alike.
  EXPECT_EQ(calls(steps(32, 5, "rows", false)), Counts(32, 4));
  // The first step reads an argument and the last writes one.
  EXPECT_EQ(calls(steps(9, 16, "rows", true)), Counts(7, 1));
  // Three of the five are equal: too few for a call for each item.
  EXPECT_EQ(calls(steps(5, 16, "rows", true)), Counts(0, 0));
}

TEST(SharedNests, AreFoundInSeveralKernels) {
  NestText nest = dense(4, 8, 3, "mk", "kn", true);
  std::string text;
  for (int64_t i = 0; i < 5; ++i)
    text += kernelOf("dense" + std::to_string(i), nest, "rows", 4);
  EXPECT_EQ(calls(text), Counts(5, 1));
  KernelCheck().run(text);
}
