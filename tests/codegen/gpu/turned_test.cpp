// Transposes in tiles, of all types and of sizes that tiles do not divide.

#include "cuda_kernels.h"

#include "codegen/gpu/mapping.h"
#include "codegen/gpu/ptx.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// y = x turned, plus z as it lies; x where a guard holds.
std::string turned(std::vector<int64_t> shape, std::string from,
                   std::string type = "f32", std::string guard = "") {
  std::string dims = "(", names;
  std::vector<int64_t> read;
  for (size_t d = 0; d < shape.size(); ++d)
    dims += (d ? ", d" : "d") + std::to_string(d);
  dims += ")";
  for (char c : from) {
    read.push_back(shape[c - '0']);
    names += (names.empty() ? "d" : ", d") + std::string(1, c);
  }
  std::string op = type[0] == 'i' ? "arith.addi" : "arith.addf";
  NestText nest{shape,
                {},
                {},
                {{"%x", buffer(read, type), dims + " -> (" + names + ")",
                  guard.empty() ? "" : dims + " : " + guard},
                 {"%z", buffer(shape, type), dims + " -> " + dims}},
                {{"%y", buffer(shape, type), dims + " -> " + dims}},
                {},
                "",
                "\n ^bb0(%a: " + type + ", %b: " + type + "):\n %s = " + op +
                    " %a, %b : " + type + "\n plan.yield %s : " + type + "\n"};
  std::string name = "turned_" + type + from + (guard.empty() ? "" : "g");
  for (int64_t extent : shape)
    name += "_" + std::to_string(extent);
  return kernelOf(name, nest, "rows", shape[0]);
}

TurnedTiles tilesIn(const std::string &text) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  GpuMapping mapping = chooseMapping(*module->getOps<plan::KernelOp>().begin());
  return mapping.nests.begin()->second.turned;
}

struct GpuTurned : CudaKernels {};

} // namespace

TEST(GpuTurnedTiles, AreOfWhatIsReadAcross) {
  TurnedTiles tiles = tilesIn(turned({64, 96}, "10"));
  EXPECT_EQ(tiles.read, 0);
  EXPECT_EQ(tiles.written, 1);
  EXPECT_EQ(tiles.side(), 32);
  EXPECT_EQ(tilesIn(turned({64, 96}, "10", "bf16")).side(), 64);
  EXPECT_EQ(tilesIn(turned({64, 95}, "10", "bf16")).side(), 32);
  EXPECT_FALSE(tilesIn(turned({64, 96}, "01")));
  EXPECT_FALSE(tilesIn(turned({64, 3}, "10"))); // too few to be read as a row
  // Heads of attention: what is innermost stays so.
  EXPECT_FALSE(tilesIn(turned({2, 24, 12, 16}, "0213")));
}

TEST(GpuTurnedTiles, AreComputedRight) {
  std::string text;
  for (std::string type : {"f32", "bf16", "i8", "f64"})
    text += turned({64, 96}, "10", type) + turned({50, 33}, "10", type) +
            turned({2, 34, 70}, "021", type) + turned({40, 3, 18}, "210", type);
  GpuCheck().run(text + turned({40, 70}, "10", "f32", "(d0 - 3 >= 0)") +
                 turned({40, 70}, "10", "bf16", "(d1 - 3 >= 0)"));
}

/// Without the barrier between them, elements are taken up that nobody has put
/// down.
TEST(GpuTurnedTiles, WaitForWhatTheyTakeUp) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(turned({64, 96}, "10"),
                                                        &context.context);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  GpuKernels gpu(kernels);
  mlir::gpu::BarrierOp first;
  gpu.gpu().module->walk([&](mlir::gpu::BarrierOp barrier) {
    if (!first)
      first = barrier;
  });
  ASSERT_TRUE(first);
  first.erase();
  gpu.load();
  std::vector<Tensor> arguments = argumentsOf(kernels[0], 0);
  std::vector<Buffer> buffers(arguments.begin(), arguments.end());
  std::string fault = gpu.run(0, buffers, 0, 4).message();
  EXPECT_NE(fault.find("shared memory 0"), std::string::npos) << fault;
}

TEST_F(GpuTurned, HaveAllOfATileOnTheWay) {
  std::string ptx =
      llvm::cantFail(emitPtx(llvm::cantFail(lowerGpu(
                                 codeOf(turned({4096, 1024}, "10", "bf16")))),
                             {"sm_90"}, toolkit))
          .front();
  size_t put = ptx.find("st.shared"), loads = 0;
  for (size_t at = 0; (at = ptx.find("ld.global", at + 1)) < put;)
    ++loads;
  EXPECT_EQ(loads, 8u) << ptx;
  EXPECT_EQ(ptx.find("ld.global.b16"), std::string::npos) << ptx;
  EXPECT_EQ(ptx.find("st.global.b16"), std::string::npos) << ptx;
}
