// Compares kernels op by op, in the form that the emitter sees: nests without
// the number of items, and buffers by their numbers.

#include "codegen/kernels/shared_kernels.h"

#include "codegen/kernels/shared_nests.h"

#include "llvm/ADT/Hashing.h"

#include <unordered_map>

using namespace mlir;
using namespace gradus;

namespace {

/// A nest with the numbers of its buffers.
struct NestCode {
  SharedNest form;
  SmallVector<unsigned> buffers;

  bool operator==(const NestCode &other) const {
    return form == other.form && form.nest.loops == other.form.nest.loops &&
           buffers == other.buffers;
  }
};

/// The code of a kernel: its ops in order, those of loops behind these. A null
/// op ends a loop.
struct KernelCode {
  unsigned arguments = 0;
  SmallVector<Operation *> ops;
  SmallVector<unsigned> positions; // the buffers that give loops their position
  std::vector<NestCode> nests;

  bool operator==(const KernelCode &other) const;
};

/// Reads the code of kernels that take one item at a time.
class Reader {
public:
  explicit Reader(plan::KernelOp kernel) : kernel_(kernel) {
    Block &body = kernel.getBody().front();
    for (BlockArgument argument : body.getArguments())
      number(argument);
    code_.arguments = body.getNumArguments();
    read(body);
  }

  KernelCode take() { return std::move(code_); }

private:
  void number(Value buffer) { numbers_.try_emplace(buffer, numbers_.size()); }

  void read(Block &block) {
    for (Operation &op : block) {
      code_.ops.push_back(&op);
      if (auto scratch = dyn_cast<plan::ScratchOp>(op))
        number(scratch.getResult());
      if (auto pairs = dyn_cast<plan::PairsOp>(op))
        numbers_[pairs.getResult()] = numbers_.lookup(pairs.getSource());
      if (auto nest = dyn_cast<plan::NestOp>(op))
        read(nest);
      if (auto loop = dyn_cast<plan::LoopOp>(op)) {
        if (loop.getAt())
          code_.positions.push_back(numbers_.lookup(loop.getAt()));
        read(loop.getBody().front());
      }
    }
    code_.ops.push_back(nullptr);
  }

  void read(plan::NestOp op) {
    NestCode nest{SharedNest::of(op, kernel_.getSplit(), /*oneItem=*/true), {}};
    for (auto *accesses : {&nest.form.nest.inputs, &nest.form.nest.outputs})
      for (const Access &access : *accesses)
        nest.buffers.push_back(numbers_.lookup(access.buffer));
    code_.nests.push_back(std::move(nest));
  }

  plan::KernelOp kernel_;
  KernelCode code_;
  DenseMap<Value, unsigned> numbers_;
};

} // namespace

static bool areEqual(Operation *one, Operation *other) {
  if (!one || !other || one->getName() != other->getName())
    return one == other;
  if (auto scratch = dyn_cast<plan::ScratchOp>(one))
    return scratch.getType() == other->getResult(0).getType();
  if (auto loop = dyn_cast<plan::LoopOp>(one))
    return loop->getAttrDictionary() == other->getAttrDictionary() &&
           loop->getOperandTypes() == other->getOperandTypes();
  if (isa<plan::PairsOp>(one)) // Nests say which buffers they see so.
    return true;
  return isa<plan::NestOp, plan::EndOp>(one);
}

bool KernelCode::operator==(const KernelCode &other) const {
  return arguments == other.arguments && positions == other.positions &&
         llvm::equal(
             ops, other.ops,
             [](Operation *x, Operation *y) { return ::areEqual(x, y); }) &&
         nests == other.nests;
}

static size_t hashOf(const KernelCode &code) {
  llvm::hash_code hash = llvm::hash_combine(code.arguments, code.ops.size());
  for (const NestCode &nest : code.nests)
    hash = llvm::hash_combine(hash, nest.form.hash());
  return hash;
}

SmallVector<size_t> gradus::sharedCode(ArrayRef<plan::KernelOp> kernels) {
  SmallVector<size_t> shared;
  std::unordered_multimap<size_t, std::pair<size_t, KernelCode>> known;
  for (auto [number, kernel] : llvm::enumerate(kernels)) {
    shared.push_back(number);
    if (takesItemsTogether(kernel))
      continue;
    KernelCode code = Reader(kernel).take();
    size_t hash = hashOf(code);
    auto [begin, end] = known.equal_range(hash);
    auto same = std::find_if(begin, end, [&](const auto &entry) {
      return entry.second.second == code;
    });
    if (same != end)
      shared.back() = same->second.first;
    else
      known.emplace(hash, std::pair(number, std::move(code)));
  }
  return shared;
}
