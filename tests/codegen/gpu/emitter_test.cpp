// Whole kernels: several in one module, loops with bounds of their own, the
// same text every time, clear refusals.

#include "check.h"
#include "tests/codegen/kernel_text.h"

using namespace gradus;
using namespace gradus::test;

namespace {

llvm::Expected<GpuCode> emit(const std::string &text, Context &context,
                             mlir::OwningOpRef<mlir::ModuleOp> &module) {
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  return emitGpu(kernels, context.context);
}

/// For each of 200 items, of the parts up to its own: to scratch, and from
/// there to the output.
std::string looped() {
  std::string x = buffer({200, 4, 10}), s = buffer({10}),
              read = "(item, part, i) -> (item, part, i)",
              kept = "(item, part, i) -> (i)",
              square = "\n ^bb0(%a: f32):\n %p = arith.mulf %a, %a : f32\n "
                       "plan.yield %p : f32\n",
              copy = "\n ^bb0(%a: f32):\n plan.yield %a : f32\n";
  NestText zero{{200, 4, 10},
                {},
                {},
                {},
                {{"%y", x, read}},
                {},
                "",
                "\n ^bb0:\n %a = arith.constant 0.0 : f32\n plan.yield %a : "
                "f32\n"};
  NestText in{{200, 4, 10},      {}, {}, {{"%x", x, read}},
              {{"%s", s, kept}}, {}, "", square};
  NestText out{
      {200, 4, 10},      {}, {}, {{"%s", s, "(item, part, i) -> (9 - i)"}},
      {{"%y", x, read}}, {}, "", copy};
  return kernel("looped", {{"%x", x, ""}, {"%y", x, ""}}, 1, "rows", 200,
                "  %s = plan.scratch : " + s + "\n" + zero.text() +
                    "  plan.loop from affine_map<(item) -> (0, item - 197)> to "
                    "affine_map<(item) -> (4, item floordiv 3)> {\n" +
                    in.text() + out.text() + "  }\n");
}

} // namespace

TEST(GpuEmitter, RunsLoopsOfEachItem) { GpuCheck().run(looped()); }

TEST(GpuEmitter, GivesTheSameTextEveryTime) {
  std::string text =
      kernelOf("dense", dense(5, 7, 19, "mk", "nk", true), "serial") + looped();
  std::string printed[2];
  for (std::string &each : printed) {
    Context context;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    GpuCode code = llvm::cantFail(emit(text, context, module));
    llvm::raw_string_ostream(each) << *code.module;
    ASSERT_EQ(code.kernels.size(), 2u);
    EXPECT_EQ(code.kernels[1].name, "looped");
    EXPECT_EQ(code.kernels[1].threads, 256);
    EXPECT_EQ(code.kernels[1].mostBlocks, 25);
  }
  EXPECT_EQ(printed[0], printed[1]);
}

TEST(GpuEmitter, RefusesWhatOnlyCpusHave) {
  std::string text = looped(), end = "item floordiv 3)> {",
              scratch = "  %s = plan.scratch";
  text.replace(text.find(end), end.size(),
               "item floordiv 3)> at %i : memref<200x4xi32> {");
  text.insert(text.find(scratch), "  %i = plan.scratch : memref<200x4xi32>\n");
  Context context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  EXPECT_EQ(llvm::toString(emit(text, context, module).takeError()),
            "kernel 'looped' has pairs, or a loop that reads its position, "
            "which only CPUs have");
}
