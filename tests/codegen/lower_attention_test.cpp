// Kernels of attention compute what the op computes, in plans and as machine
// code; a causal mask skips what it hides.

#include "tests/codegen/compiled_run.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

struct Case {
  const char *name;
  int64_t queries, keys, width, depth;
  const char *mask;   // its type, or none
  const char *causal; // " causal" or nothing
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.name; }

std::string type(std::vector<int64_t> shape) {
  std::string text = "tensor<2x3x";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

/// Forward and backward of an attention of 2 x 3 heads; a mask of truth values
/// is where a float input is positive.
std::string programOf(const Case &c) {
  std::string q = type({c.queries, c.width}), k = type({c.keys, c.width}),
              v = type({c.keys, c.depth}), y = type({c.queries, c.depth}),
              l = type({c.queries}), mask = c.mask, ending, given = mask, code;
  if (!mask.empty())
    ending = " mask %m";
  if (mask.find("i1") != std::string::npos) {
    given.replace(given.find("i1"), 2, "f32");
    code = "%zero = arith.constant dense<0.0> : " + given +
           "\n%m = arith.cmpf ogt, %f, %zero : " + given + "\n";
  }
  std::string input = code.empty() ? "%m" : "%f";
  std::string options = ending + c.causal + " {scale = 0.3 : f64} : (" + q +
                        ", " + k + ", " + v,
              more = mask.empty() ? ")" : ", " + mask + ")";
  return graphProgram(
      "%q: " + q + ", %k: " + k + ", %v: " + v + ", %g: " + y + ", %d: " + l +
          (mask.empty() ? "" : ", " + input + ": " + given) + ") -> (y: " + y +
          ", l: " + l + ", dq: " + q + ", dk: " + k + ", dv: " + v,
      code + "%y, %l = gradus.attention %q, %k, %v" + options + more + " -> (" +
          y + ", " + l +
          ")\n%dq, %dk, %dv = gradus.attention_backward %q, %k, %v, %l, %g, "
          "%d" +
          options + ", " + l + ", " + y + ", " + l + more + " -> (" + q + ", " +
          k + ", " + v + ")\ngradus.return %y, %l, %dq, %dk, %dv : " + y +
          ", " + l + ", " + q + ", " + k + ", " + v);
}

class LowerAttention : public ::testing::TestWithParam<Case> {};

const Case cases[] = {
    {"plain", 5, 7, 4, 3, "", ""},
    {"vectors", 32, 48, 16, 32, "", ""},
    {"ragged", 33, 50, 13, 9, "", ""},
    {"one_query", 1, 20, 8, 8, "", ""},
    {"causal", 21, 21, 8, 8, "", " causal"},
    {"causal_in_blocks", 130, 130, 8, 4, "", " causal"},
    {"causal_in_ragged_blocks", 199, 199, 4, 4, "", " causal"},
    {"causal_with_fewer_queries", 130, 150, 4, 8, "", " causal"},
    {"causal_with_fewer_keys", 150, 70, 4, 8, "", " causal"},
    {"added", 6, 20, 8, 4, "tensor<2x3x6x20xf32>", ""},
    {"added_to_keys", 6, 20, 8, 4, "tensor<2x1x1x20xf32>", ""},
    {"added_by_head", 6, 20, 8, 4, "tensor<1x3x6x1xf32>", " causal"},
    {"truth", 6, 20, 8, 4, "tensor<2x1x6x20xi1>", ""},
    {"truth_that_hides_all_keys", 9, 20, 8, 4, "tensor<1x1x9x1xi1>", ""},
    {"truth_and_causal", 130, 130, 8, 4, "tensor<1x1x1x130xi1>", " causal"},
};

} // namespace

TEST_P(LowerAttention, ComputesWhatTheOpComputes) {
  CompiledRun run(programOf(GetParam()));
  run.run("lower-to-nests");
}

INSTANTIATE_TEST_SUITE_P(Cases, LowerAttention, ::testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

/// Multiply-adds that are left of a causal attention over `length`.
static double shareOfWork(int64_t length) {
  Case causal{"", length, length, 16, 16, "", " causal"};
  CompiledRun run(programOf(causal));
  mlir::PassManager manager(run.context.get());
  registerCodegenPasses();
  EXPECT_TRUE(mlir::succeeded(
      mlir::parsePassPipeline("gradus.program(lower-to-nests)", manager)));
  EXPECT_TRUE(mlir::succeeded(manager.run(*run.module)));
  int64_t flops = 0;
  run.programOf().walk(
      [&](plan::LaunchOp launch) { flops += launch.getFlops(); });
  return flops / (7.0 * 2 * 3 * length * length * 32);
}

TEST(LowerAttentionOf, CausalMasksSkipWhatTheyHide) {
  EXPECT_EQ(shareOfWork(64), 1);
  EXPECT_EQ(shareOfWork(128), 0.75);
  EXPECT_EQ(shareOfWork(256), 0.625);
}
