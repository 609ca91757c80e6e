// Estimates of the operations that kernels execute, beside their loops.

#include "tests/codegen/program_text.h"

#include "codegen/compile.h"
#include "codegen/gpu/operations.h"

using namespace gradus;

namespace {

/// Adds up the operations of all kernels of a graph for a GPU.
uint64_t operationsOf(const std::string &inputs, const std::string &result,
                      const std::string &ops) {
  ProgramText text("gradus.program @p {\ngradus.graph @g(" + inputs +
                   ") -> (y: " + result + ") {\n" + ops +
                   "gradus.return %y : " + result + "\n}\n}\n");
  DeviceModel model = llvm::cantFail(findTarget("cuda")).model;
  EXPECT_TRUE(mlir::succeeded(runStages(*text.module, "kernels", model)));
  uint64_t count = 0;
  text.module->walk(
      [&](plan::KernelOp kernel) { count += gpuOperationsOf(kernel); });
  return count;
}

uint64_t sumsAtIndices(const std::string &slices, const std::string &indices,
                       const std::string &columns) {
  std::string table = "tensor<" + slices + "x" + columns + "xf32>",
              added = "tensor<" + indices + "x" + columns + "xf32>",
              places = "tensor<" + indices + "xi64>";
  return operationsOf("%x: " + added + ", %i: " + places, table,
                      "%y = gradus.scatter_add %x at %i axis 0 : " + added +
                          ", " + places + " -> " + table + "\n");
}

} // namespace

/// A load of each operand, the operation, a store.
TEST(GpuOperations, AreThoseOfEachElement) {
  EXPECT_EQ(operationsOf("%a: tensor<1000xf32>, %b: tensor<1000xf32>",
                         "tensor<1000xf32>",
                         "%y = arith.addf %a, %b : tensor<1000xf32>\n"),
            4u * 1000);
  EXPECT_EQ(operationsOf("%a: tensor<1000xf32>, %b: tensor<1000xf32>",
                         "tensor<1000xf32>",
                         "%y = arith.divf %a, %b : tensor<1000xf32>\n"),
            11u * 1000);
}

/// Two loads, a product and a sum for each of what is multiplied.
TEST(GpuOperations, OfAProductAreThoseOfItsSums) {
  uint64_t small = 20 * 30 * 10;
  EXPECT_GE(operationsOf("%a: tensor<20x10xf32>, %b: tensor<10x30xf32>",
                         "tensor<20x30xf32>",
                         "%y = gradus.matmul %a, %b : tensor<20x10xf32>, "
                         "tensor<10x30xf32> -> tensor<20x30xf32>\n"),
            4 * small);
}

/// Guards and places are found once for a vector of channels that they do not
/// hang on.
TEST(GpuOperations, OfPaddingHangOnWhereItIs) {
  auto padded = [](const std::string &pads, const std::string &result) {
    return operationsOf("%x: tensor<2x16x16x16xf32>", result,
                        "%y = gradus.pad %x low " + pads + " high " + pads +
                            " interior [0, 0, 0, 0] {value = 0.0 : f64} : "
                            "tensor<2x16x16x16xf32> -> " +
                            result + "\n");
  };
  EXPECT_LT(padded("[0, 1, 1, 0]", "tensor<2x18x18x16xf32>"),
            padded("[0, 0, 1, 1]", "tensor<2x16x18x18xf32>"));
}

/// They grow with the table and with what is added, and not with their product.
TEST(GpuOperations, OfSumsAtIndicesGrowWithWhatIsAdded) {
  uint64_t one = sumsAtIndices("20000", "4096", "256");
  EXPECT_GT(one, 20000u * 256);
  EXPECT_LT(one, 8u * 20000 * 256);
  EXPECT_LT(sumsAtIndices("20000", "8192", "256"), 2 * one);
}

TEST(GpuOperations, OfWhatIsTakenAreThoseOfItsVectors) {
  EXPECT_EQ(operationsOf("%x: tensor<1000x32xf32>, %i: tensor<8xi64>",
                         "tensor<8x32xf32>",
                         "%y = gradus.gather %x at %i axis 0 : "
                         "tensor<1000x32xf32>, tensor<8xi64> -> "
                         "tensor<8x32xf32>\n"),
            8u * 8 * (24 + 4));
}
