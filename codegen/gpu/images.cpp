// Lowers one module of functions for each architecture.

#include "codegen/gpu/images.h"

#include "codegen/gpu/emulated.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace gradus;

//===-- targets -----------------------------------------------------------===//

constexpr StringRef kArchitectures[] = {"sm_80", "sm_90", "sm_100"};

/// "; sm_86 runs the code for sm_80": a hint which code a GPU can run if there
/// is none for its own architecture. Empty if it is no architecture.
static std::string hintFor(StringRef architecture) {
  auto numberOf = [](StringRef name) {
    int number = 0; // unchanged if it is none
    name.consume_front("sm_");
    name.getAsInteger(10, number);
    return number;
  };
  int number = numberOf(architecture);
  if (number <= 0)
    return "";
  if (number < numberOf(kArchitectures[0]))
    return "; cards before " + kArchitectures[0].str() + " are not served";
  for (StringRef known : kArchitectures)
    if (number / 10 == numberOf(known) / 10)
      return "; " + architecture.str() + " runs the code for " + known.str();
  return "; " + architecture.str() + " runs the PTX that cuda adds";
}

llvm::Expected<GpuTarget> gradus::gpuTarget(StringRef name) {
  GpuTarget target;
  if (name == "emulated") {
    target.emulated = true;
    return target;
  }
  if (name == "cuda") {
    target.architectures.assign(std::begin(kArchitectures),
                                std::end(kArchitectures));
    target.ptx = true;
    return target;
  }
  StringRef architecture = name;
  if (architecture.consume_front("cuda:") &&
      llvm::is_contained(kArchitectures, architecture)) {
    target.architectures = {architecture.str()};
    return target;
  }
  return llvm::createStringError(
      "target is '" + name.str() +
      "', expected cuda (all architectures and PTX) or one of cuda:sm_80, "
      "cuda:sm_90, cuda:sm_100" +
      hintFor(architecture));
}

/// Architectures stay in order: PTX is for the last one.
void gradus::join(GpuTarget &target, const GpuTarget &other) {
  std::vector<std::string> all;
  for (StringRef known : kArchitectures)
    if (llvm::is_contained(target.architectures, known) ||
        llvm::is_contained(other.architectures, known))
      all.push_back(known.str());
  target.architectures = std::move(all);
  target.ptx |= other.ptx;
  target.emulated |= other.emulated;
}

//===-- images ------------------------------------------------------------===//

/// Sorts the reports of ptxas, which come in an order of its own.
static llvm::Expected<std::vector<KernelUse>>
inOrder(const std::vector<KernelUse> &uses, ArrayRef<GpuKernel> kernels) {
  std::vector<KernelUse> ordered;
  for (const GpuKernel &kernel : kernels) {
    auto found = llvm::find_if(
        uses, [&](const KernelUse &use) { return use.name == kernel.name; });
    if (found == uses.end())
      return llvm::createStringError("ptxas does not name kernel '" +
                                     kernel.name + "'");
    ordered.push_back(*found);
  }
  return ordered;
}

/// Makes the image of PTX, which ends with a zero for the driver.
static GpuImage ptxImage(StringRef ptx, StringRef architecture,
                         std::vector<KernelUse> uses) {
  GpuImage image{
      GpuImage::ptx, architecture.str(), {}, {}, std::move(uses), {}};
  image.code.assign(ptx.begin(), ptx.end());
  image.code.push_back('\0');
  return image;
}

static llvm::Error addCubins(const GpuCode &code, const GpuTarget &target,
                             const KernelCache &cache, GpuImages &images) {
  if (target.architectures.empty())
    return llvm::Error::success();
  llvm::Expected<CudaToolkit> toolkit = cudaToolkit();
  if (!toolkit)
    return toolkit.takeError();
  auto cubins = emitCubins(code, target.architectures, *toolkit, cache);
  if (!cubins)
    return cubins.takeError();
  for (Cubin &cubin : *cubins) {
    auto uses = inOrder(cubin.kernels(), code.kernels);
    if (!uses)
      return uses.takeError();
    bool isLast = &cubin == &cubins->back();
    images.images.push_back({GpuImage::cubin,
                             cubin.architecture,
                             {},
                             std::move(cubin.code),
                             *uses,
                             {}});
    if (target.ptx && isLast)
      images.images.push_back(ptxImage(cubin.ptx, cubin.architecture, *uses));
  }
  return llvm::Error::success();
}

static llvm::Error addEmulated(const GpuCode &code, GpuImages &images) {
  CpuTarget host = llvm::cantFail(cpuTarget("cpu"));
  auto emulated = emulateGpu(code, host);
  if (!emulated)
    return emulated.takeError();
  GpuImage image;
  image.kind = GpuImage::emulated;
  image.features = requiredFeatures(host);
  image.code = std::move(emulated->code);
  for (const EmulatedKernel &kernel : emulated->kernels) {
    KernelUse use;
    use.name = kernel.name;
    use.shared = kernel.sharedBytes;
    image.kernels.push_back(std::move(use));
    image.entries.push_back(kernel.entry);
  }
  images.images.push_back(std::move(image));
  return llvm::Error::success();
}

llvm::Expected<GpuImages>
gradus::emitGpuImages(ArrayRef<plan::KernelOp> kernels, const GpuTarget &target,
                      const GpuModel &gpu, const KernelCache &cache,
                      MLIRContext &context) {
  auto code = emitGpu(kernels, context, gpu);
  if (!code)
    return code.takeError();
  GpuImages images;
  if (llvm::Error error = addCubins(*code, target, cache, images))
    return std::move(error);
  if (target.emulated)
    if (llvm::Error error = addEmulated(*code, images))
      return std::move(error);
  images.kernels = std::move(code->kernels);
  return images;
}
