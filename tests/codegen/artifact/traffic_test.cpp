// Bytes of the commands of small programs, as `inspect` shows them.

#include "tests/codegen/program_text.h"

#include "codegen/artifact/traffic.h"
#include "codegen/compile.h"

using namespace gradus;

namespace {

/// Of all launches of a graph for a target.
uint64_t trafficOn(const char *target, const std::string &inputs,
                   const std::string &result, const std::string &ops) {
  ProgramText text("gradus.program @p {\ngradus.graph @g(" + inputs +
                   ") -> (y: " + result + ") {\n" + ops +
                   "gradus.return %y : " + result + "\n}\n}\n");
  DeviceModel model = llvm::cantFail(findTarget(target)).model;
  EXPECT_TRUE(mlir::succeeded(runStages(*text.module, "", model)));
  llvm::StringMap<plan::KernelOp> kernels;
  text.module->walk(
      [&](plan::KernelOp kernel) { kernels[kernel.getSymName()] = kernel; });
  uint64_t bytes = 0;
  LaunchTraffic traffic(model.gpu);
  text.module->walk([&](plan::LaunchOp launch) {
    bytes += traffic.of(launch, kernels[launch.getKernel()]);
  });
  return bytes;
}

uint64_t layerNorm(const char *target, uint64_t columns) {
  std::string line = "tensor<" + std::to_string(columns) + "xf32>",
              all = "tensor<1024x" + std::to_string(columns) + "xf32>";
  return trafficOn(target, "%x: " + all + ", %s: " + line + ", %b: " + line,
                   all,
                   "%y = gradus.layer_norm %x, %s plus %b {epsilon = 1.0e-5 : "
                   "f64} : " +
                       all + ", " + line + ", " + line + "\n");
}

} // namespace

/// A head of attention is a part of what a product gives.
TEST(Traffic, OfAPartIsThatPart) {
  EXPECT_EQ(trafficOn("cuda", "%x: tensor<64x96xf32>", "tensor<64x32xf32>",
                      "%y = gradus.slice %x starts [0, 32] steps [1, 1] : "
                      "tensor<64x96xf32> -> tensor<64x32xf32>\n"),
            2u * 64 * 32 * 4);
}

TEST(Traffic, OfWhatIsTakenIsThat) {
  EXPECT_EQ(trafficOn("cuda", "%x: tensor<1000x32xf32>, %i: tensor<8xi64>",
                      "tensor<8x32xf32>",
                      "%y = gradus.gather %x at %i axis 0 : "
                      "tensor<1000x32xf32>, tensor<8xi64> -> "
                      "tensor<8x32xf32>\n"),
            2u * 8 * 32 * 4 + 8 * 8);
}

/// Both are read; a table is written as a whole.
TEST(Traffic, OfSumsAtIndicesIsTheTableAndWhatIsAdded) {
  EXPECT_EQ(trafficOn("cuda", "%x: tensor<8x32xf32>, %i: tensor<8xi64>",
                      "tensor<1000x32xf32>",
                      "%y = gradus.scatter_add %x at %i axis 0 : "
                      "tensor<8x32xf32>, tensor<8xi64> -> "
                      "tensor<1000x32xf32>\n"),
            1000u * 32 * 4 + 8 * 32 * 4 + 8 * 8);
}

/// A row is read for its mean, its variance and its result: the second time
/// from a cache, where it fits into one.
TEST(Traffic, OfRowsCountsWhatCachesDoNotHold) {
  uint64_t few = 768, many = 50256;
  auto once = [](uint64_t columns) {
    return 2u * 1024 * columns * 4 + 2 * columns * 4;
  };
  EXPECT_EQ(layerNorm("cuda", few), once(few));
  EXPECT_EQ(layerNorm("cpu", many), once(many));
  EXPECT_GE(layerNorm("cuda", many), once(many) + 1024 * many * 4);
}
