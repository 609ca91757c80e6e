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

/// Adds up the reads of an argument.
class Reads {
public:
  void add(const Nest &nest, Value argument) {
    uint64_t bytes = 0;
    for (const Access &access : nest.inputs)
      if (access.buffer == argument)
        bytes = llvm::SaturatingAdd(bytes, addOne(nest, access));
    if (bytes)
      found.all.push_back(bytes);
  }

  ArgumentReads found;

private:
  uint64_t addOne(const Nest &nest, const Access &access) {
    uint64_t bytes = bytesOf(nest, access);
    bool isKnown = llvm::any_of(seen_, [&](auto &other) {
      return other.second == bytes && isEqual(other.first, access.place);
    });
    if (!isKnown)
      found.once = llvm::SaturatingAdd(found.once, bytes);
    seen_.push_back({access.place, bytes});
    return bytes;
  }

  SmallVector<std::pair<Linear, uint64_t>> seen_;
};

} // namespace

/// Returns the reads of a kernel's argument. `nests` keeps the nests that were
/// read on the way, for the next argument.
static ArgumentReads readsOf(plan::KernelOp kernel, BlockArgument argument,
                             llvm::DenseMap<Operation *, Nest> &nests) {
  Reads reads;
  for (Operation *user : llvm::SmallSetVector<Operation *, 8>(
           argument.user_begin(), argument.user_end())) {
    auto take = dyn_cast<plan::TakeOp>(user);
    if (auto op = dyn_cast<plan::NestOp>(user)) {
      auto nest = nests.find(op);
      if (nest == nests.end())
        nest = nests.try_emplace(op, readNest(op, kernel.getSplit())).first;
      reads.add(nest->second, argument);
    } else if (take && take.getSource() == argument) {
      reads.found.once += tensorBytes(take.getOutType());
    } else {
      reads.found.isKnown = false;
      break;
    }
  }
  return std::move(reads.found);
}

/// The bytes that a kernel reads of an argument of `whole` bytes.
uint64_t LaunchTraffic::readOf(plan::KernelOp kernel, unsigned argument,
                               uint64_t whole) {
  std::vector<ArgumentReads> &known = known_[kernel];
  if (known.empty()) {
    llvm::DenseMap<Operation *, Nest> nests;
    for (BlockArgument each : kernel.getBody().getArguments())
      known.push_back(readsOf(kernel, each, nests));
  }
  const ArgumentReads &reads = known[argument];
  if (!reads.isKnown)
    return whole;
  uint64_t once = std::min(reads.once, whole), all = 0;
  for (uint64_t bytes : reads.all)
    all += std::min(bytes, whole);
  if (!gpu_ || kernel.getSplit() != plan::Split::rows)
    return once;
  int64_t items = std::max<int64_t>(1, kernel.getItems());
  uint64_t atOnce = std::min(items, gpu_->blocksAtOnce());
  bool staysNear = once / items * atOnce <= uint64_t(gpu_->cacheBytes);
  return staysNear ? once : std::max(all, once);
}

//===-- commands ----------------------------------------------------------===//

static uint64_t written(Operation *command) {
  uint64_t bytes = 0;
  for (Value result : command->getResults())
    bytes += tensorBytes(result.getType());
  return bytes;
}

uint64_t LaunchTraffic::of(plan::LaunchOp launch, plan::KernelOp kernel) {
  llvm::MapVector<Value, uint64_t> read;
  for (OpOperand &use : launch->getOpOperands()) {
    unsigned number = use.getOperandNumber() % kernel.getInputs();
    uint64_t whole = tensorBytes(use.get().getType());
    uint64_t bytes = readOf(kernel, number, whole);
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
