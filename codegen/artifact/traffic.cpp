// A nest reads one element for each position of the dimensions that an access
// depends on, but no more than the buffer has.

#include "codegen/artifact/traffic.h"

#include "codegen/memory/liveness.h"
#include "codegen/plan/nest_access.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gradus;

/// Of a buffer that is read in a way that nothing is known of.
static constexpr uint64_t kAll = UINT64_MAX;

//===-- reads of an argument ---------------------------------------------===//

static bool isEqual(const Linear &a, const Linear &b) {
  return a.offset == b.offset && a.strides == b.strides && a.terms == b.terms;
}

static uint64_t bytesOf(const Nest &nest, const Access &access) {
  uint64_t bytes = std::max(8u, access.element.getIntOrFloatBitWidth()) / 8;
  for (unsigned dim = 0; dim < nest.dims(); ++dim) {
    if (!access.place.dependsOn(dim))
      continue;
    if (nest.isLoop(dim) || ShapedType::isDynamic(nest.extents[dim]))
      return kAll;
    bytes = llvm::SaturatingMultiply(bytes, uint64_t(nest.extents[dim]));
  }
  return bytes;
}

namespace {

/// The bytes that nests read of an argument: with reads that repeat an earlier
/// nest's (`all`, for each nest), and without (`once`).
struct Reads {
  uint64_t once = 0;
  SmallVector<uint64_t> all;

  void add(const Nest &nest, Value argument) {
    uint64_t bytes = 0;
    for (const Access &access : nest.inputs)
      if (access.buffer == argument)
        bytes = llvm::SaturatingAdd(bytes, addOne(nest, access));
    if (bytes)
      all.push_back(bytes);
  }

private:
  uint64_t addOne(const Nest &nest, const Access &access) {
    uint64_t bytes = bytesOf(nest, access);
    bool isKnown = llvm::any_of(seen_, [&](auto &other) {
      return other.second == bytes && isEqual(other.first, access.place);
    });
    if (!isKnown)
      once = llvm::SaturatingAdd(once, bytes);
    seen_.push_back({access.place, bytes});
    return bytes;
  }

  SmallVector<std::pair<Linear, uint64_t>> seen_;
};

} // namespace

/// The bytes that a kernel reads of a buffer of `whole` bytes.
static uint64_t readOf(plan::KernelOp kernel, BlockArgument argument,
                       uint64_t whole, const std::optional<GpuModel> &gpu) {
  if (argument.use_empty())
    return 0;
  Reads reads;
  for (Operation *user : llvm::SmallSetVector<Operation *, 8>(
           argument.user_begin(), argument.user_end())) {
    auto take = dyn_cast<plan::TakeOp>(user);
    if (auto nest = dyn_cast<plan::NestOp>(user))
      reads.add(readNest(nest, kernel.getSplit()), argument);
    else if (take && take.getSource() == argument)
      reads.once += tensorBytes(take.getOutType());
    else
      return whole;
  }
  uint64_t once = std::min(reads.once, whole), all = 0;
  for (uint64_t bytes : reads.all)
    all += std::min(bytes, whole);
  if (!gpu || kernel.getSplit() != plan::Split::rows)
    return once;
  int64_t items = std::max<int64_t>(1, kernel.getItems());
  uint64_t atOnce = std::min(items, gpu->blocksAtOnce());
  bool staysNear = once / items * atOnce <= uint64_t(gpu->cacheBytes);
  return staysNear ? once : std::max(all, once);
}

//===-- commands ----------------------------------------------------------===//

static uint64_t written(Operation *command) {
  uint64_t bytes = 0;
  for (Value result : command->getResults())
    bytes += tensorBytes(result.getType());
  return bytes;
}

uint64_t gradus::trafficOf(plan::LaunchOp launch, plan::KernelOp kernel,
                           const std::optional<GpuModel> &gpu) {
  llvm::MapVector<Value, uint64_t> read;
  for (OpOperand &use : launch->getOpOperands()) {
    unsigned number = use.getOperandNumber() % kernel.getInputs();
    uint64_t whole = tensorBytes(use.get().getType());
    uint64_t bytes =
        readOf(kernel, kernel.getBody().getArgument(number), whole, gpu);
    uint64_t &most = read[use.get()];
    most = std::max({most, bytes, std::min(most + bytes, whole)});
  }
  uint64_t bytes = written(launch);
  for (auto &[value, part] : read)
    bytes += part;
  return bytes;
}

uint64_t gradus::trafficOf(plan::LibraryOp library) {
  uint64_t bytes = written(library);
  for (Value operand : llvm::SmallSetVector<Value, 8>(library->operand_begin(),
                                                      library->operand_end()))
    bytes += tensorBytes(operand.getType());
  return bytes;
}
