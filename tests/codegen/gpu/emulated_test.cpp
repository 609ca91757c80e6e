// Faults planted into what the GPU emitter made: each is found, and named.

#include "check.h"
#include "tests/codegen/kernel_text.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace gradus;
using namespace gradus::test;

namespace {

using Change = llvm::function_ref<void(mlir::gpu::GPUFuncOp)>;

/// What the emulated GPU says of a kernel with a change to its code.
std::string faultOf(const std::string &text, Change change) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  GpuKernels gpu(kernels);
  gpu.gpu().module->walk(change);
  gpu.load();
  std::vector<Tensor> arguments = argumentsOf(kernels[0], 5000);
  std::vector<Buffer> buffers(arguments.begin(), arguments.end());
  return gpu.run(0, buffers, 5000, /*blocks=*/4).message();
}

/// Sums of a few long rows: a block a row, with two barriers.
std::string sums() {
  NestText nest{{3},
                {3000},
                {{"%x", buffer({3, 3000}), "(i, j) -> (i, j)"}},
                {},
                {{"%y", buffer({3}), "(i) -> (i)"}},
                {"sum"},
                "\n ^bb0(%a: f32):\n plan.yield %a : f32\n",
                plainSum};
  return kernelOf("sums", nest, "rows", 3);
}

std::string doubled() {
  NestText nest{{mlir::ShapedType::kDynamic},
                {},
                {},
                {{"%x", buffer({-1}), "(i) -> (i)"}},
                {{"%y", buffer({-1}), "(i) -> (i)"}},
                {},
                "",
                "\n ^bb0(%a: f32):\n %r = arith.addf %a, %a : f32\n plan.yield "
                "%r : f32\n"};
  return kernelOf("doubled", nest, "flat", 0);
}

template <typename Op> Op firstOf(mlir::gpu::GPUFuncOp function) {
  Op found;
  function.walk([&](Op op) {
    if (!found)
      found = op;
  });
  return found;
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

// Processors without instructions for bf16 have no function for it either.
TEST(GpuEmulated, TakesNumbersOfBf16FromBlockToBlockOnEachLevel) {
  std::string x = buffer({7}, "bf16"), i = buffer({5}, "i32"),
              y = buffer({5}, "bf16");
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      kernel("taken", {{"%x", x, ""}, {"%i", i, ""}, {"%y", y, ""}}, 2, "rows",
             5,
             "  plan.take %x at %i into %y axis 0 batch 0 : " + x + ", " + i +
                 ", " + y + "\n"),
      &context.context);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  GpuKernels gpu(kernels);
  for (const char *level :
       {"cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4"}) {
    auto code = emulateGpu(gpu.gpu(), llvm::cantFail(cpuTarget(level)));
    EXPECT_TRUE(bool(code))
        << level << ": " << llvm::toString(code.takeError());
  }
}

TEST(GpuEmulated, FindsNothingWrongWithWhatIsRight) {
  EXPECT_EQ(faultOf(sums(), [](auto) {}), "");
  EXPECT_EQ(faultOf(doubled(), [](auto) {}), "");
}

TEST(GpuEmulated, FindsAMissingBarrier) {
  std::string fault = faultOf(sums(), [](mlir::gpu::GPUFuncOp function) {
    firstOf<mlir::gpu::BarrierOp>(function).erase();
  });
  EXPECT_TRUE(has(fault, "kernel sums, block 0")) << fault;
  EXPECT_TRUE(has(fault, "shared memory 0")) << fault;
}

/// One that some threads only reach.
TEST(GpuEmulated, FindsADivergentBarrier) {
  std::string fault = faultOf(sums(), [](mlir::gpu::GPUFuncOp function) {
    auto store = firstOf<mlir::memref::StoreOp>(function);
    mlir::OpBuilder b(store);
    mlir::gpu::BarrierOp::create(b, store.getLoc());
  });
  EXPECT_TRUE(has(fault, "waits at a barrier that thread")) << fault;
}

TEST(GpuEmulated, FindsElementsOutside) {
  std::string fault = faultOf(sums(), [](mlir::gpu::GPUFuncOp function) {
    function.walk([](mlir::vector::LoadOp load) {
      mlir::OpBuilder b(load);
      auto four = mlir::arith::ConstantIndexOp::create(b, load.getLoc(), 4);
      load.getIndicesMutable()[0].set(mlir::arith::AddIOp::create(
          b, load.getLoc(), load.getIndices()[0], four));
    });
  });
  EXPECT_TRUE(has(fault, "reads element 9003 of argument 0, which has 9000"))
      << fault;
}

TEST(GpuEmulated, FindsMisalignedVectors) {
  std::string fault = faultOf(doubled(), [](mlir::gpu::GPUFuncOp function) {
    function.walk([](mlir::LLVM::LoadOp load) {
      if (!mlir::isa<mlir::VectorType>(load.getType()))
        return;
      mlir::OpBuilder b(load);
      load.getAddrMutable().set(mlir::LLVM::GEPOp::create(
          b, load.getLoc(), load.getAddr().getType(), b.getF32Type(),
          load.getAddr(), llvm::ArrayRef<mlir::LLVM::GEPArg>{1}));
    });
  });
  EXPECT_TRUE(has(fault, "at an address that is no multiple of 16")) << fault;
}

TEST(GpuEmulated, FindsAddressesOutside) {
  std::string fault = faultOf(doubled(), [](mlir::gpu::GPUFuncOp function) {
    function.walk([](mlir::LLVM::StoreOp store) {
      mlir::OpBuilder b(store);
      store.getAddrMutable().set(mlir::LLVM::GEPOp::create(
          b, store.getLoc(), store.getAddr().getType(), b.getF32Type(),
          store.getAddr(), llvm::ArrayRef<mlir::LLVM::GEPArg>{1 << 20}));
    });
  });
  EXPECT_TRUE(has(fault, "outside of the device's memory")) << fault;
}
