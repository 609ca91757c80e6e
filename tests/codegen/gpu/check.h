// Kernels run twice: by the CPU emitter's code, and by the GPU emitter's on the
// emulated GPU with all its checks, on random inputs. Tests compare the two.
#pragma once

#include "tests/codegen/plan/nest_reference.h"

#include "codegen/gpu/emulated.h"
#include "codegen/gpu/flat.h"
#include "runtime/emulated/launch.h"

namespace gradus::test {

namespace emulated = gradus::runtime::emulated;

/// Bytes that can be run.
class MappedCode {
public:
  explicit MappedCode(const std::vector<char> &code)
      : size_((code.size() + 4095) / 4096 * 4096),
        memory_(static_cast<char *>(mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    std::memcpy(memory_, code.data(), code.size());
    mprotect(memory_, size_, PROT_READ | PROT_EXEC);
  }
  MappedCode(const MappedCode &) = delete;
  ~MappedCode() { munmap(memory_, size_); }
  char *at(uint64_t offset) const { return memory_ + offset; }

private:
  size_t size_;
  char *memory_;
};

/// GPU kernels whose emulated code is mapped.
class GpuKernels {
public:
  explicit GpuKernels(llvm::ArrayRef<plan::KernelOp> kernels)
      : kernels_(kernels),
        gpu_(llvm::cantFail(
            emitGpu(kernels, *plan::KernelOp(kernels.front())->getContext()))) {
  }
  /// Runs from here on what `gpu()` holds, which a test may have changed.
  void load() {
    emulated_ =
        llvm::cantFail(emulateGpu(gpu_, llvm::cantFail(cpuTarget("cpu"))));
    code_.emplace(emulated_.code);
  }
  GpuCode &gpu() { return gpu_; }
  int64_t operations = 0; // that all runs have executed

  /// Runs kernel i; the items of a flat one are those of its longest buffers.
  runtime::Status run(size_t i, std::vector<Buffer> &buffers, int64_t items,
                      int64_t blocks, unsigned seed = 0) {
    const GpuKernel &kernel = gpu_.kernels[i];
    emulated::Memory memory;
    emulated::Launch launch;
    for (auto [buffer, type] :
         llvm::zip(buffers, plan::KernelOp(kernels_[i]).getArgumentTypes())) {
      auto memref = llvm::cast<mlir::MemRefType>(type);
      int64_t width = bytesOf(memref.getElementType());
      int64_t count = memref.hasStaticShape() ? memref.getNumElements() : items;
      memory.add(buffer.data(), count * width, width);
      launch.arguments.push_back(buffer.data());
    }
    std::vector<std::vector<char>> scratch;
    for (int64_t bytes : kernel.scratchBytes) {
      scratch.emplace_back(bytes, char(0xFF));
      memory.add(scratch.back().data(), bytes, 1);
      launch.arguments.push_back(scratch.back().data());
    }
    std::vector<int64_t> table;
    if (kernel.piece)
      asSegments(kernel, items, launch, table, memory);
    launch.name = kernel.name;
    launch.entry = reinterpret_cast<emulated::Entry>(
        reinterpret_cast<uintptr_t>(code_->at(emulated_.kernels[i].entry)));
    launch.threads = kernel.threads;
    launch.blocks = kernel.piece ? blocks : std::min(blocks, kernel.mostBlocks);
    launch.shared = emulated_.kernels[i].sharedBytes;
    launch.seed = seed;
    return emulated::run(launch, memory, operations);
  }

private:
  /// One tensor as two segments, where it is long enough to be cut.
  void asSegments(const GpuKernel &kernel, int64_t items,
                  emulated::Launch &launch, std::vector<int64_t> &table,
                  emulated::Memory &memory) {
    int64_t cut = items / 2 / 64 * 64, pieces = 0, row = 0;
    for (auto [begin, end] :
         {std::pair(int64_t(0), cut), std::pair(cut, items)}) {
      if (begin == end)
        continue;
      table.push_back(pieces);
      table.push_back(end - begin);
      for (auto [buffer, type] :
           llvm::zip(launch.arguments,
                     plan::KernelOp(kernels_[&kernel - gpu_.kernels.data()])
                         .getArgumentTypes())) {
        auto memref = llvm::cast<mlir::MemRefType>(type);
        int64_t skipped =
            memref.getRank() ? begin * bytesOf(memref.getElementType()) : 0;
        table.push_back(reinterpret_cast<int64_t>(buffer) + skipped);
      }
      pieces += (end - begin + kernel.piece - 1) / kernel.piece;
      ++row;
    }
    memory.add(table.data(), table.size() * 8, 8);
    launch.arguments = {table.data(), reinterpret_cast<void *>(row),
                        reinterpret_cast<void *>(pieces)};
  }

  std::vector<plan::KernelOp> kernels_;
  GpuCode gpu_;
  EmulatedCode emulated_;
  std::optional<MappedCode> code_;
};

/// Random arguments of a kernel, floats in [-2, 2) times a power of two.
inline std::vector<Tensor> argumentsOf(plan::KernelOp kernel, int64_t items,
                                       double scale = 1) {
  std::mt19937 random(7);
  std::vector<Tensor> arguments;
  for (mlir::Type type : kernel.getArgumentTypes()) {
    arguments.push_back(
        randomTensor(llvm::cast<mlir::MemRefType>(type), items, random));
    for (Number &number : arguments.back().elements)
      number.real *= scale;
  }
  return arguments;
}

class GpuCheck {
public:
  int64_t items = 5000; // of flat kernels
  double tolerance = 1e-5;
  double scale = 1; // of the inputs, a power of two
  /// Changes the random arguments of a kernel; may be empty.
  std::function<void(std::vector<Tensor> &)> prepare;

  /// All kernels of a module's text.
  void run(llvm::StringRef text) {
    auto module =
        mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
    ASSERT_TRUE(module) << text.str();
    run(llvm::to_vector(module->getOps<plan::KernelOp>()));
  }

  void run(llvm::ArrayRef<plan::KernelOp> kernels) {
    auto emitted = emitCpu(kernels, llvm::cantFail(cpuTarget("cpu")));
    ASSERT_TRUE(bool(emitted)) << llvm::toString(emitted.takeError());
    Code cpu(std::move(*emitted));
    GpuKernels gpu(kernels);
    gpu.load();
    for (auto [i, kernel] : llvm::enumerate(kernels))
      runOne(kernel, i, cpu, gpu);
  }

private:
  /// With a few blocks and with many, and warps in any order: the same bits.
  void runOne(plan::KernelOp kernel, size_t i, const Code &cpu,
              GpuKernels &gpu) {
    bool isFlat = kernel.getSplit() == plan::Split::flat;
    int64_t count = isFlat ? items : kernel.getItems();
    std::vector<Tensor> arguments = argumentsOf(kernel, items, scale);
    if (prepare)
      prepare(arguments);
    std::vector<Buffer> expected(arguments.begin(), arguments.end());
    std::vector<void *> table;
    for (Buffer &buffer : expected)
      table.push_back(buffer.data());
    cpu.run(i, table.data(), 0, count);
    std::vector<Tensor> wanted = arguments;
    for (size_t a = kernel.getInputs(); a < wanted.size(); ++a)
      for (size_t e = 0; e < wanted[a].elements.size(); ++e)
        wanted[a].elements[e] = expected[a].at(e);
    std::vector<Buffer> first;
    for (int64_t blocks : {int64_t(3), int64_t(1) << 30}) {
      std::vector<Buffer> found(arguments.begin(), arguments.end());
      int64_t most = isFlat ? 7 : blocks;
      auto status = gpu.run(i, found, items, most, first.empty() ? 0 : 5);
      ASSERT_TRUE(status.ok()) << status;
      compare(kernel, wanted, found, tolerance,
              "emulated, kernel " + kernel.getSymName().str());
      for (size_t a = 0; a < first.size(); ++a)
        EXPECT_TRUE(first[a] == found[a])
            << kernel.getSymName().str() << ": bits depend on the grid";
      first = std::move(found);
    }
  }

  Context context;
};

} // namespace gradus::test
