// Kernels of scans compute what the evaluator computes, on any number of
// threads the same bits.

#include "tests/end_to_end/compiled.h"

using namespace gradus;

namespace {

std::string tensor(std::vector<int64_t> shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

/// A gated recurrence: two states, a matmul of the first, and a concatenation
/// whose parts the step writes. The states change places between `steps`.
std::string program(int64_t steps, int64_t rows, int64_t width,
                    const std::string &how) {
  std::string h = tensor({rows, width}), w = tensor({2 * width, width}),
              g = tensor({rows, 2 * width}),
              x = tensor({steps, rows, 2 * width}),
              all = tensor({steps, rows, width}), v = tensor({width}),
              wide = tensor({steps, rows, 2 * width}),
              at = std::to_string(width), n = std::to_string(steps);
  return "gradus.program @p {\ngradus.graph @g(%h: " + h + ", %c: " + h +
         ", %x: " + x + ", %w: " + w + ", %v: " + v + ") -> (y: " + h +
         ", z: " + h + ", all: " + all + ", parts: " + wide +
         ") {\n%y, %z, %all, %parts = gradus.scan " + n + how +
         " carry(%h, %c : " + h + ", " + h + ") over(%x : " + x +
         ") with(%w, %v : " + w + ", " + v + ") body {\n^bb0(%h0: " + h +
         ", %c0: " + h + ", %x0: " + g + ", %w0: " + w + ", %v0: " + v +
         "):\n%p = gradus.matmul %h0, %w0 transposed : " + h + ", " + w +
         " -> " + g + "\n%q = arith.addf %p, %x0 : " + g +
         "\n%i = gradus.slice %q starts [0, 0] steps [1, 1] : " + g + " -> " +
         h + "\n%j = gradus.slice %q starts [0, " + at +
         "] steps [1, 1] : " + g + " -> " + h +
         "\n%k = gradus.sigmoid %i : " + h + "\n%l = math.tanh %j : " + h +
         "\n%m = arith.mulf %k, %l : " + h +
         "\n%b = gradus.broadcast %v0 dims [1] : " + v + " -> " + h +
         "\n%o = arith.addf %m, %b : " + h + "\n%both = gradus.concatenate " +
         "%k, %l axis 1 : " + h + ", " + h + " -> " + g +
         "\n%r = gradus.matmul %both, %w0 : " + g + ", " + w + " -> " + h +
         "\n%s = math.tanh %r : " + h + "\n%t = arith.addf %s, %o : " + h +
         "\ngradus.yield %c0, %t, %h0, %both : " + h + ", " + h + ", " + h +
         ", " + g + "\n} -> " + h + ", " + h + ", " + all + ", " + wide +
         "\ngradus.return %y, %z, %all, %parts : " + h + ", " + h + ", " + all +
         ", " + wide + "\n}\n}\n";
}

NamedTensors inputsOf(const std::string &text) {
  ModuleText module(text);
  GraphOp graph = module.program().getGraph("g");
  NamedTensors inputs;
  for (auto [number, type] : llvm::enumerate(graph.getArgumentTypes()))
    inputs[graph.getInputName(number).str()] =
        randomTensor(cast<mlir::RankedTensorType>(type), number);
  return inputs;
}

} // namespace

/// Sizes with whole panels and rows in equal parts, and with neither.
TEST(ScanKernel, ComputesWhatTheStepsCompute) {
  for (auto [steps, rows, width] : {std::tuple(3, 16, 32),
                                    {5, 7, 5},
                                    {1, 1, 8},
                                    {4, 22, 24},
                                    {2, 2, 64},
                                    {2, 33, 100},
                                    {3, 1, 64}})
    for (const char *how : {"", " reverse"}) {
      std::string text = program(steps, rows, width, how);
      SCOPED_TRACE(text);
      NamedTensors inputs = inputsOf(text);
      expectNear(Compiled(text).run("g", inputs),
                 Evaluated(text).run("g", inputs), 2e-5, 1e-5);
    }
}

/// Matmuls of what is rounded before them: of pairs where the target has them,
/// but for odd sums. A sum in another order rounds a state the other way at
/// times, by 2^-8.
TEST(ScanKernel, MultipliesWhatStepsRound) {
  for (auto [steps, rows, width] :
       {std::tuple(3, 16, 32), {5, 7, 5}, {2, 9, 64}}) {
    std::string h = "<" + std::to_string(rows) + "x" + std::to_string(width) +
                    "x",
                g = "<" + std::to_string(rows) + "x" +
                    std::to_string(2 * width) + "x",
                w = "tensor<" + std::to_string(2 * width) + "x" +
                    std::to_string(width) + "xbf16>",
                weight = "tensor<" + std::to_string(2 * width) + "x" +
                         std::to_string(width) + "xf32>",
                wide = "tensor" + h + "f32>", narrow = "tensor" + h + "bf16>",
                both = "tensor" + g + "bf16>", sums = "tensor" + g + "f32>";
    std::string text =
        "gradus.program @p {\ngradus.graph @g(%h: " + wide + ", %f: " + weight +
        ") -> (y: " + wide + ") {\n%w = arith.truncf %f : " + weight + " to " +
        w + "\n%y = gradus.scan " + std::to_string(steps) +
        " carry(%h : " + wide + ") with(%w : " + w +
        ") body {\n^bb0(%a: " + wide + ", %v: " + w +
        "):\n%n = arith.truncf %a : " + wide + " to " + narrow +
        "\n%p = gradus.matmul %n, %v transposed : " + narrow + ", " + w +
        " -> " + sums + "\n%t = math.tanh %p : " + sums +
        "\n%m = arith.truncf %t : " + sums + " to " + both +
        "\n%q = gradus.matmul %m, %v : " + both + ", " + w + " -> " + wide +
        "\n%r = math.tanh %q : " + wide + "\ngradus.yield %r : " + wide +
        "\n} -> " + wide + "\ngradus.return %y : " + wide + "\n}\n}\n";
    SCOPED_TRACE(text);
    NamedTensors inputs = inputsOf(text);
    for (const char *target : {"cpu", "cpu:x86-64-v2"})
      expectNear(Compiled(artifactOf(text, target)).run("g", inputs),
                 Evaluated(text).run("g", inputs), 0x1p-8, 0x1p-8);
  }
}

/// A part of a weight from its first element on has the index map of a whole
/// one.
TEST(ScanKernel, MultipliesWithAPartOfAWeight) {
  struct Row {
    std::vector<int64_t> weight;
    std::string how;
  };
  const std::string h = tensor({8, 4}), part = tensor({4, 4});
  for (const Row &row : {Row{{4, 8}, ""},
                         {{8, 4}, ""},
                         {{4, 8}, " transposed"},
                         {{8, 4}, " transposed"},
                         {{8, 8}, ""}}) {
    std::string w = tensor(row.weight), x = tensor({3, 8, 4}),
                text = "gradus.program @p {\ngradus.graph @g(%h: " + h +
                       ", %x: " + x + ", %w: " + w + ") -> (y: " + h +
                       ") {\n%y = gradus.scan 3 carry(%h : " + h +
                       ") over(%x : " + x + ") with(%w : " + w +
                       ") body {\n^bb0(%a: " + h + ", %s: " + h + ", %v: " + w +
                       "):\n%c = gradus.slice %v starts [0, 0] steps " +
                       "[1, 1] : " + w + " -> " + part +
                       "\n%p = gradus.matmul %a, %c" + row.how + " : " + h +
                       ", " + part + " -> " + h +
                       "\n%q = arith.addf %p, %s : " + h +
                       "\ngradus.yield %q : " + h + "\n} -> " + h +
                       "\ngradus.return %y : " + h + "\n}\n}\n";
    SCOPED_TRACE(text);
    NamedTensors inputs = inputsOf(text);
    expectNear(Compiled(text).run("g", inputs),
               Evaluated(text).run("g", inputs), 2e-5, 1e-5);
  }
}

TEST(ScanKernel, GivesTheSameBitsOnAnyNumberOfThreads) {
  std::string text = program(6, 24, 48, "");
  NamedTensors inputs = inputsOf(text), expected;
  for (int threads : {1, 2, 3}) {
    runtime::SessionOptions options;
    options.threads = threads;
    NamedTensors found = Compiled(text, options).run("g", inputs);
    if (threads == 1)
      expected = found;
    for (auto &[name, value] : found)
      EXPECT_EQ(value.floats, expected[name].floats) << name;
  }
}
