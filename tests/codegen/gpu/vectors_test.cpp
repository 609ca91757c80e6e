// Where a thread may take several elements at once, and that PTX then has
// vectors of them.

#include "cuda_kernels.h"
#include "tests/codegen/kernel_text.h"

#include "codegen/gpu/ptx.h"
#include "codegen/gpu/vectors.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// y[i, j] = x at a map, of one type or another, where a guard holds.
struct Copy {
  std::vector<int64_t> shape, from;
  std::string map = "(i, j) -> (i, j)", type = "bf16", to = "", guard = "";

  std::string text(std::string name = "copy") const {
    std::string out = to.empty() ? type : to;
    NestText nest{shape,
                  {},
                  {},
                  {{"%x", buffer(from, type), map, guard}},
                  {{"%y", buffer(shape, out), "(i, j) -> (i, j)"}},
                  {},
                  "",
                  "\n ^bb0(%a: " + type + "):\n" +
                      (out == type
                           ? " plan.yield %a : " + type + "\n"
                           : " %w = arith.extf %a : " + type + " to " + out +
                                 "\n plan.yield %w : " + out + "\n")};
    return kernelOf(name, nest, "serial");
  }

  int64_t vector() const {
    Context context;
    auto module =
        mlir::parseSourceString<mlir::ModuleOp>(text(), &context.context);
    plan::NestOp op;
    module->walk([&](plan::NestOp each) { op = each; });
    return widestVector(readNest(op, plan::Split::serial), 1);
  }
};

const std::string kRows = "(i, j) -> (i, j)";

struct GpuVectors : CudaKernels {
  std::string ptxOf(const std::string &text) {
    return llvm::cantFail(emitPtx(llvm::cantFail(lowerGpu(codeOf(text))),
                                  {"sm_90"}, toolkit))
        .front();
  }
};

bool has(const std::string &ptx, const std::string &part) {
  return ptx.find(part) != std::string::npos;
}

} // namespace

TEST(GpuVectorsFit, WhereElementsAreNeighbours) {
  EXPECT_EQ((Copy{{6, 64}, {6, 64}, kRows, "bf16"}.vector()), 8);
  EXPECT_EQ((Copy{{6, 64}, {6, 64}, kRows, "f32"}.vector()), 4);
  EXPECT_EQ((Copy{{6, 64}, {6, 64}, kRows, "f64"}.vector()), 2);
  EXPECT_EQ((Copy{{6, 64}, {6, 64}, kRows, "bf16", "f32"}.vector()), 8);
  EXPECT_EQ((Copy{{6, 64}, {64}, "(i, j) -> (j)"}.vector()), 8);
  EXPECT_EQ((Copy{{6, 64}, {6}, "(i, j) -> (i)"}.vector()), 8);
  EXPECT_EQ((Copy{{6, 64}, {64, 6}, "(i, j) -> (j, i)"}.vector()), 1);
}

TEST(GpuVectorsFit, WhereTheyBeginAtMultiples) {
  EXPECT_EQ((Copy{{4, 6}, {4, 8}, kRows}.vector()), 2);
  EXPECT_EQ((Copy{{4, 8}, {4, 12}, kRows}.vector()), 4);
  EXPECT_EQ((Copy{{4, 8}, {4, 16}, "(i, j) -> (i, j + 4)"}.vector()), 4);
  EXPECT_EQ((Copy{{4, 8}, {2, 8}, "(i, j) -> (i floordiv 2, j)"}.vector()), 8);
}

/// Elements of inputs that begin elsewhere, or have edges among them, are read
/// one by one.
TEST(GpuVectorsFit, WhereOutputsBeginAtMultiples) {
  EXPECT_EQ((Copy{{4, 8}, {4, 15}, kRows}.vector()), 8);
  EXPECT_EQ((Copy{{4, 8}, {4, 16}, "(i, j) -> (i, j + 1)"}.vector()), 8);
  EXPECT_EQ((Copy{{4, 8}, {4, 8}, "(i, j) -> (i, j mod 4)"}.vector()), 8);
  EXPECT_EQ((Copy{{4, 8}, {4, 8}, kRows, "f32", "f32", "(i, j) : (j - 1 >= 0)"}
                 .vector()),
            4);
  EXPECT_EQ((Copy{{4, 7}, {4, 15}, kRows}.vector()), 1);
}

TEST(GpuVectorsFit, WhereGuardsDoNotAsk) {
  EXPECT_EQ((Copy{{4, 8}, {4, 8}, kRows, "f32", "f32", "(i, j) : (i - 1 >= 0)"}
                 .vector()),
            4);
}

TEST(GpuVectorsFit, AreComputedRight) {
  int count = 0;
  std::string text;
  for (std::string type : {"bf16", "f16", "f32", "f64", "i8", "i1", "i64"})
    for (int64_t columns : {64, 12, 6, 17, 3})
      text += Copy{{40, columns},
                   {40, columns + 4},
                   "(i, j) -> (39 - i, j + 4)",
                   type,
                   "",
                   count % 2 ? "(i, j) : (i - 7 >= 0)" : ""}
                  .text("copy" + std::to_string(count++));
  for (std::string type : {"bf16", "f32", "i1"})
    for (std::string map :
         {"(i, j) -> (39 - i, j + 3)", "(i, j) -> (39 - i, j mod 4 + 1)"})
      for (std::string guard :
           {"", "(i, j) : (j - 2 >= 0, 9 - j >= 0, i - 7 >= 0)"})
        text += Copy{{40, 12}, {40, 16}, map, type, "", guard}.text(
            "copy" + std::to_string(count++));
  GpuCheck().run(text);
}

TEST_F(GpuVectors, Are128BitsInPtx) {
  // Elements of which channels come last, with one number a channel.
  NestText scaled{{64 * 56 * 56, 64},
                  {},
                  {},
                  {{"%x", buffer({64 * 56 * 56, 64}, "bf16"), kRows},
                   {"%s", buffer({64}, "bf16"), "(i, j) -> (j)"}},
                  {{"%y", buffer({64 * 56 * 56, 64}, "bf16"), kRows}},
                  {},
                  "",
                  "\n ^bb0(%a: bf16, %b: bf16):\n %p = arith.mulf %a, %b : "
                  "bf16\n plan.yield %p : bf16\n"};
  std::string ptx = ptxOf(kernelOf("scaled", scaled, "rows", 64 * 56 * 56));
  EXPECT_TRUE(has(ptx, "ld.global.v4.b32")) << ptx;
  EXPECT_TRUE(has(ptx, "st.global.v4.b32"));
  EXPECT_FALSE(has(ptx, "ld.global.b16"));
  EXPECT_FALSE(has(ptx, "st.global.b16"));
}

TEST_F(GpuVectors, AreNoneInPtxOfOddRows) {
  std::string ptx = ptxOf(Copy{{40, 17}, {40, 20}, kRows}.text());
  EXPECT_TRUE(has(ptx, "ld.global.b16")) << ptx;
  EXPECT_FALSE(has(ptx, "ld.global.v"));
}
