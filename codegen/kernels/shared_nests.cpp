// Finds equal nests by hash, then by comparison. Their numbers depend only on
// the kernels.

#include "codegen/kernels/shared_nests.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/Hashing.h"

using namespace mlir;
using namespace gradus;

bool gradus::takesItemsTogether(plan::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  return kernel.getSplit() != plan::Split::rows ||
         (body.getOps<plan::ScratchOp>().empty() &&
          body.getOps<plan::LoopOp>().empty());
}

//===-- equality ----------------------------------------------------------===//

static bool areEqual(const Linear &a, const Linear &b) {
  return a.offset == b.offset && a.strides == b.strides && a.terms == b.terms;
}

static bool areEqual(const Condition &a, const Condition &b) {
  return a.equality == b.equality && areEqual(a.value, b.value);
}

static bool areEqual(const Access &a, const Access &b) {
  return a.element == b.element && areEqual(a.place, b.place) &&
         llvm::equal(a.guard, b.guard,
                     [](auto &x, auto &y) { return areEqual(x, y); });
}

static bool areEqual(llvm::ArrayRef<Access> a, llvm::ArrayRef<Access> b) {
  return llvm::equal(a, b, [](auto &x, auto &y) { return areEqual(x, y); });
}

static bool areEqual(Region &a, Region &b) {
  return OperationEquivalence::isRegionEquivalentTo(
      &a, &b, OperationEquivalence::IgnoreLocations);
}

bool SharedNest::operator==(const SharedNest &other) const {
  const Nest &a = nest, &b = other.nest;
  return oneItem == other.oneItem && a.parallel == b.parallel &&
         a.extents == b.extents && a.mapInputs == b.mapInputs &&
         a.combine == b.combine && a.itemDim == b.itemDim &&
         a.itemLength == b.itemLength && areEqual(a.inputs, b.inputs) &&
         areEqual(a.outputs, b.outputs) && areEqual(a.map(), b.map()) &&
         areEqual(a.then(), b.then());
}

size_t SharedNest::hash() const {
  llvm::hash_code hash = llvm::hash_combine(
      llvm::hash_combine_range(nest.extents), nest.parallel, nest.inputs.size(),
      nest.outputs.size(), nest.itemDim, nest.itemLength);
  for (auto *accesses : {&nest.inputs, &nest.outputs})
    for (const Access &access : *accesses)
      hash = llvm::hash_combine(hash, access.place.offset,
                                llvm::hash_combine_range(access.place.strides));
  for (Region *region : {&nest.map(), &nest.then()})
    region->walk([&](Operation *op) {
      hash = llvm::hash_combine(hash, op->getName().getAsOpaquePointer());
    });
  return hash;
}

SharedNest SharedNest::of(plan::NestOp op, plan::Split split, bool oneItem) {
  SharedNest form{readNest(op, split), oneItem};
  if (oneItem)
    form.nest.extents[form.nest.itemDim] = form.nest.itemLength;
  return form;
}

//===-- the nests of a program --------------------------------------------===//

/// The part of an offset that matters for tilings: the largest power of two
/// that divides it, up to the widest vector.
static int64_t alignmentPart(int64_t offset) {
  constexpr int64_t widest = 64;
  return offset % widest ? offset & -offset : 0;
}

SharedNests::SharedNests(llvm::ArrayRef<plan::KernelOp> kernels,
                         llvm::function_ref<bool(plan::NestOp)> isLeftOut) {
  constexpr unsigned fewCalls = 3; // per item
  std::vector<unsigned> inProgram;
  for (plan::KernelOp kernel : kernels) {
    bool together = takesItemsTogether(kernel);
    llvm::DenseMap<unsigned, unsigned> inKernel;
    llvm::SmallVector<plan::NestOp> nests;
    for (auto op : kernel.getBody().getOps<plan::NestOp>())
      if (!isLeftOut || !isLeftOut(op))
        nests.push_back(op);
    for (plan::NestOp op : nests) {
      add(op, kernel.getSplit(), together);
      ++inKernel[numbers_[op]];
    }
    inProgram.resize(all_.size());
    for (plan::NestOp op : nests)
      if (++inProgram[numbers_[op]];
          !together && inKernel[numbers_[op]] > fewCalls)
        shared_.insert(op);
  }
  // A call for each item would cost too much for a nest that occurs once in a
  // kernel.
  for (auto [op, number] : numbers_)
    if (!all_[number].oneItem && inProgram[number] > 1)
      shared_.insert(op);
}

void SharedNests::add(plan::NestOp op, plan::Split split, bool together) {
  SharedNest form = SharedNest::of(op, split, !together);
  for (auto *accesses : {&form.nest.inputs, &form.nest.outputs})
    for (Access &access : *accesses)
      access.place.offset = alignmentPart(access.place.offset);
  numbers_[op] = numberOf(std::move(form));
}

unsigned SharedNests::numberOf(SharedNest form) {
  auto &candidates = byHash_[form.hash()];
  for (unsigned number : candidates)
    if (all_[number] == form)
      return number;
  candidates.push_back(all_.size());
  all_.push_back(std::move(form));
  return candidates.back();
}

std::optional<unsigned> SharedNests::find(plan::NestOp op) const {
  if (!shared_.contains(op))
    return std::nullopt;
  return numbers_.lookup(op);
}

llvm::SmallVector<unsigned> SharedNests::functions() const {
  llvm::SmallVector<unsigned> found;
  for (Operation *op : shared_)
    found.push_back(numbers_.lookup(op));
  llvm::sort(found);
  found.erase(llvm::unique(found), found.end());
  return found;
}
