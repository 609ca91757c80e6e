// The work of kernels that multiply matrices is counted from their nests, and
// times that are computed from it are those that were measured.

#include "codegen/plan/kernel_work.h"

#include "runtime/rates.h"
#include "tests/codegen/kernels/winograd_cases.h"
#include "tests/codegen/plan/plan_check.h"

#include <gtest/gtest.h>

using namespace gradus;
using namespace gradus::test;

namespace {

using Module = mlir::OwningOpRef<mlir::ModuleOp>;

/// A kernel of 4 items. Item i multiplies 8x3 by 3x16 numbers i + 1 times, and
/// then adds the transpose of other numbers, scaled, to what comes out.
std::string kernelText(const std::string &product, const std::string &element,
                       const std::string &mark) {
  std::string a = "memref<4x8x3x" + element + ">",
              b = "memref<3x16x" + element + ">";
  return "gradus.program @p {\nplan.kernel @k(%a: " + a + ", %b: " + b +
         R"(, %t: memref<16x8xf32>, %y: memref<4x8x16xf32>)
    attributes {inputs = 3 : i64, split = #plan<split rows>, items = 4 : i64)" +
         mark + R"(} {
  plan.loop from affine_map<(item) -> (0)> to affine_map<(item) -> (4, item + 1)> {
    plan.nest parallel [4, 4, 8, 16] reduced [3] ins(%a, %b : )" +
         a + ", " + b + R"() outs(%y : memref<4x8x16xf32>)
        attributes {map_input_maps = [affine_map<(n, l, i, j, k) -> (n, i, k)>, affine_map<(n, l, i, j, k) -> (k, j)>],
                    then_input_maps = [], output_maps = [affine_map<(n, l, i, j) -> (n, i, j)>],
                    guards = [unit, unit], combine = [#gradus<reduction sum>]}
        map {
        ^bb0(%p: )" +
         element + ", %q: " + element + "):\n" + product + R"(
          plan.yield %m : f32
        } then {
        ^bb0(%s: f32):
          plan.yield %s : f32
        }
  }
  plan.nest parallel [4, 8, 16] reduced [] with(%y, %t : memref<4x8x16xf32>, memref<16x8xf32>) outs(%y : memref<4x8x16xf32>)
      attributes {map_input_maps = [], then_input_maps = [affine_map<(n, i, j) -> (n, i, j)>, affine_map<(n, i, j) -> (j, i)>],
                  output_maps = [affine_map<(n, i, j) -> (n, i, j)>], guards = [unit, unit], combine = []}
      map {} then {
      ^bb0(%u: f32, %v: f32):
        %c = arith.constant 0.5 : f32
        %w = arith.mulf %v, %c : f32
        %z = arith.addf %u, %w : f32
        plan.yield %z : f32
      }
  plan.end
}
}
)";
}

std::optional<KernelWork> workOf(const std::string &text) {
  static std::unique_ptr<mlir::MLIRContext> context =
      gradus::testing::makeContext();
  Module module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  EXPECT_TRUE(module);
  std::optional<KernelWork> work;
  module->walk([&](plan::KernelOp kernel) { work = gradus::workOf(kernel); });
  return work;
}

/// The sum over the kernels of a program that `lower-to-kernels` makes, and
/// what their launches say.
KernelWork loweredWork(const std::string &text, int64_t *launched = nullptr) {
  static std::unique_ptr<mlir::MLIRContext> context =
      gradus::testing::makeContext();
  Module module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  EXPECT_TRUE(module);
  static bool registered = (registerCodegenPasses(), true);
  mlir::PassManager manager(context.get());
  EXPECT_TRUE(registered && mlir::succeeded(mlir::parsePassPipeline(
                                "gradus.program(lower-to-kernels)", manager)));
  EXPECT_TRUE(mlir::succeeded(manager.run(*module)));
  if (launched)
    module->walk(
        [&](plan::LaunchOp launch) { *launched += launch.getFlops(); });
  KernelWork all;
  module->walk([&](plan::KernelOp kernel) {
    if (auto work = gradus::workOf(kernel)) {
      all.flops += work->flops;
      all.pairFlops += work->pairFlops;
      all.operations += work->operations;
    }
  });
  return all;
}

constexpr const char *kSingle = "%m = arith.mulf %p, %q : f32",
                     *kPair = "%m = plan.dot_pairs %p, %q",
                     *kMark = ", multiplies";

} // namespace

TEST(KernelWork, IsThatOfAllItemsAndSteps) {
  std::optional<KernelWork> work = workOf(kernelText(kSingle, "f32", kMark));
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, (1 + 2 + 3 + 4) * 2 * 8 * 3 * 16);
  EXPECT_EQ(work->pairFlops, 0);
  // A store for each element of a product. Behind it a load, one of elements
  // that lie apart, a multiplication with its addition, and a store.
  EXPECT_EQ(work->operations,
            (1 + 2 + 3 + 4) * 8 * 16 + 4 * 8 * 16 * (1 + 16 + 1 + 1));
}

TEST(KernelWork, HasPairsApart) {
  std::optional<KernelWork> work = workOf(kernelText(kPair, "i32", kMark));
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 0);
  EXPECT_EQ(work->pairFlops, (1 + 2 + 3 + 4) * 4 * 8 * 3 * 16);
}

TEST(KernelWork, IsOfKernelsThatMultiplyMatrices) {
  EXPECT_FALSE(workOf(kernelText(kSingle, "f32", "")));
}

/// Blocks of keys that a mask hides are none of a causal attention's work. Its
/// products are of pairs where it reads bf16.
TEST(KernelWork, OfAttentionIsWhatItsLaunchSays) {
  for (bool isNarrow : {false, true}) {
    std::string type = "tensor<1x2x256x64xf32>", read = "%q",
                from = isNarrow ? "tensor<1x2x256x64xbf16>" : type, widened;
    if (isNarrow) {
      read = "%w";
      widened = "%w = arith.extf %q : " + from + " to " + type + "\n";
    }
    int64_t launched = 0;
    KernelWork work = loweredWork(
        "gradus.program @p {\ngradus.graph @g(%q: " + from + ") -> (y: " +
            type + ") {\n" + widened + "%y, %l:2 = gradus.attention " + read +
            ", " + read + ", " + read + " causal {scale = 0.125 : f64} : (" +
            type + ", " + type + ", " + type + ") -> (" + type +
            ", tensor<1x2x256xf32>, tensor<1x2x256xf32>)\ngradus.return %y : " +
            type + "\n}\n}\n",
        &launched);
    EXPECT_GT(launched, 0);
    EXPECT_EQ(isNarrow ? work.pairFlops : work.flops, double(launched));
    EXPECT_EQ(isNarrow ? work.flops : work.pairFlops, 0);
    // Several for each score, exponentials among them.
    EXPECT_GT(work.operations, 0.1 * double(launched));
  }
}

/// The times in docs/internals/winograd.md in milliseconds, on two threads of
/// 236 GFLOP/s and 80 GB/s together.
TEST(KernelWork, OfWinogradsKernelsTakesAsLongAsMeasured) {
  using enum plan::WinogradKind;
  struct Measured {
    int64_t images, channels, side;
    double forward, weights;
  };
  for (Measured m : {Measured{32, 64, 32, 3.7, 4.9},
                     {32, 256, 8, 3.6, 3.8},
                     {32, 512, 4, 3.9, 4.2},
                     {8, 64, 56, 2.6, 3.5},
                     {64, 16, 28, 0.56, 0.59}})
    for (auto [kind, ms] :
         {std::pair(forward, m.forward), {weight_gradient, m.weights}}) {
      WinogradCase of{m.images, m.channels, m.channels, m.side,
                      m.side,   {},         kind};
      SCOPED_TRACE(::testing::PrintToString(of));
      KernelWork work = loweredWork(programOf(of));
      double tensors = 2.0 * 4 * m.images * m.channels * m.side * m.side,
             weights = 4.0 * m.channels * m.channels;
      // A kernel before stores transformed weights, or each item transforms its
      // own.
      bool areStored = kind == forward && m.channels < 512;
      double bytes = tensors + (areStored ? 9 + 2 * 36 : 9) * weights;
      EXPECT_NEAR(
          1e3 * (productSeconds({work.flops, work.pairFlops, work.operations},
                                236e9, 473e9) +
                 bytes / 80e9),
          ms, 0.25 * ms);
    }
}
