// What kernels of real models' sizes move at once: vectors of 128 bits, and
// single elements where sizes are odd.

#include "tests/codegen/nests/needs_cuda_toolkit.h"
#include "tests/codegen/program_text.h"

#include "codegen/compile.h"
#include "codegen/gpu/object.h"
#include "codegen/gpu/ptx.h"

using namespace gradus;

namespace {

std::string tensor(const std::string &shape, const std::string &type) {
  return "tensor<" + shape + "x" + type + ">";
}

/// All kernels of a graph, as PTX.
std::string ptxOf(const std::string &inputs, const std::string &result,
                  const std::string &ops) {
  ProgramText text("gradus.program @p {\ngradus.graph @g(" + inputs +
                   ") -> (y: " + result + ") {\n" + ops +
                   "gradus.return %y : " + result + "\n}\n}\n");
  DeviceModel model = llvm::cantFail(findTarget("cuda")).model;
  EXPECT_TRUE(mlir::succeeded(runStages(*text.module, "", model)));
  std::vector<plan::KernelOp> kernels;
  text.module->walk([&](plan::KernelOp kernel) { kernels.push_back(kernel); });
  GpuCode code = llvm::cantFail(emitGpu(kernels, text.context));
  return llvm::cantFail(emitPtx(llvm::cantFail(lowerGpu(code)), {"sm_90"},
                                llvm::cantFail(cudaToolkit())))
      .front();
}

size_t count(const std::string &ptx, const std::string &op) {
  size_t found = 0;
  for (size_t at = 0; (at = ptx.find(op, at)) != std::string::npos; ++at)
    ++found;
  return found;
}

void expectVectors(const std::string &ptx, const std::string &op) {
  EXPECT_GT(count(ptx, op + ".v4.b32"), 0u) << ptx;
  for (std::string one : {".b16", ".b32"})
    EXPECT_EQ(count(ptx, op + one), 0u) << op << one << "\n" << ptx;
}

void expectVectors(const std::string &ptx) {
  expectVectors(ptx, "ld.global");
  expectVectors(ptx, "st.global");
}

/// Sums of x, as f32.
std::string sums(const std::string &shape, const std::string &axes,
                 const std::string &to, const std::string &type = "bf16") {
  std::string from = tensor(shape, type), wide = tensor(shape, "f32"),
              sum = tensor(to, "f32");
  return ptxOf("%x: " + from, sum,
               "%w = arith.extf %x : " + from + " to " + wide +
                   "\n%y = gradus.reduce sum %w axes [" + axes + "] : " + wide +
                   " -> " + sum + "\n");
}

std::string layerNorm(const std::string &columns, const std::string &type) {
  std::string all = tensor("8192x" + columns, type),
              line = tensor(columns, type);
  return ptxOf("%x: " + all + ", %scale: " + line + ", %bias: " + line, all,
               "%y = gradus.layer_norm %x, %scale plus %bias {epsilon = 1.0e-5 "
               ": f64} : " +
                   all + ", " + line + ", " + line + "\n");
}

} // namespace

TEST(GpuLoads, AreVectorsOfRows) {
  NEEDS_CUDA_TOOLKIT();
  expectVectors(layerNorm("768", "bf16"));
  expectVectors(layerNorm("768", "f32"));
}

/// Statistics of channels that come last, and gradients of biases: lanes have
/// four vectors on the way before the first is added. Neighbouring threads
/// write neighbouring sums.
TEST(GpuLoads, AreVectorsOfColumns) {
  NEEDS_CUDA_TOOLKIT();
  for (const std::string &ptx : {sums("64x1x56x56x64", "0, 2, 3", "1x64"),
                                 sums("8192x768", "0", "768")}) {
    expectVectors(ptx, "ld.global");
    size_t first = ptx.find("ld.global.v4.b32", ptx.find(".entry kernel0"));
    EXPECT_GE(count(ptx.substr(first, ptx.find("add.rn.f32", first) - first),
                    "ld.global.v4.b32"),
              4u)
        << ptx;
  }
}

TEST(GpuLoads, AreVectorsOfChannels) {
  NEEDS_CUDA_TOOLKIT();
  std::string all = tensor("64x1x28x28x128", "bf16"),
              line = tensor("128", "bf16");
  expectVectors(ptxOf("%x: " + all + ", %s: " + line, all,
                      "%t = gradus.broadcast %s dims [4] : " + line + " -> " +
                          all + "\n%y = arith.mulf %x, %t : " + all + "\n"));
}

/// Heads of attention, whose own elements stay neighbours.
TEST(GpuLoads, AreVectorsOfWhatIsPermuted) {
  NEEDS_CUDA_TOOLKIT();
  std::string from = tensor("8x1024x12x64", "bf16"),
              to = tensor("8x12x1024x64", "bf16");
  expectVectors(ptxOf("%x: " + from, to,
                      "%y = gradus.transpose %x perm [0, 2, 1, 3] : " + from +
                          " -> " + to + "\n"));
}

/// Rows of an embedding, and of its gradient; indices are 8 bytes each.
TEST(GpuLoads, AreVectorsOfWhatIndicesName) {
  NEEDS_CUDA_TOOLKIT();
  std::string table = tensor("50257x768", "f32"),
              rows = tensor("8192x768", "f32"), tokens = tensor("8192", "i64");
  for (const std::string &ptx :
       {ptxOf("%x: " + table + ", %i: " + tokens, rows,
              "%y = gradus.gather %x at %i axis 0 : " + table + ", " + tokens +
                  " -> " + rows + "\n"),
        ptxOf("%x: " + rows + ", %i: " + tokens, table,
              "%y = gradus.scatter_add %x at %i axis 0 : " + rows + ", " +
                  tokens + " -> " + table + "\n")}) {
    expectVectors(ptx, "st.global");
    EXPECT_GT(count(ptx, "ld.global.v4.b32"), 0u) << ptx;
  }
}

TEST(GpuLoads, AreSingleElementsOfOddRows) {
  NEEDS_CUDA_TOOLKIT();
  for (const std::string &ptx :
       {layerNorm("17", "bf16"), layerNorm("50257", "f32"),
        sums("64x1x56x56x3", "0, 2, 3", "1x3")}) {
    EXPECT_EQ(count(ptx, "ld.global.v"), 0u) << ptx;
    EXPECT_GT(count(ptx, "ld.global.b"), 0u) << ptx;
  }
}
