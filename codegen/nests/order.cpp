// Repeated passes over a block, each of which picks in order the ops whose
// operands are defined, would give this order. The pass that picks an op
// follows from those of its operands, so it is computed directly.

#include "codegen/nests/order.h"

#include "mlir/IR/Operation.h"

#include <numeric>

using namespace mlir;

namespace {

class Rounds {
public:
  explicit Rounds(llvm::ArrayRef<Operation *> ops)
      : round_(ops.size(), 0), waiting_(ops.size(), 0), users_(ops.size()) {
    for (auto [place, op] : llvm::enumerate(ops))
      place_[op] = place;
    for (Operation *op : ops)
      collectMakers(op);
    count();
  }

  /// The numbers of ops in the new order; empty if nothing moves.
  std::vector<unsigned> order() const {
    std::vector<unsigned> places;
    if (llvm::all_of(round_, [](unsigned round) { return round == 0; }))
      return places;
    places.resize(round_.size());
    std::iota(places.begin(), places.end(), 0);
    llvm::stable_sort(
        places, [&](unsigned a, unsigned b) { return round_[a] < round_[b]; });
    return places;
  }

private:
  /// Collects the ops that define operands of `op`, or of ops inside it.
  void collectMakers(Operation *op) {
    Block *block = op->getBlock();
    unsigned place = place_.lookup(op);
    op->walk([&](Operation *inside) {
      for (Value operand : inside->getOperands()) {
        Operation *maker = operand.getDefiningOp();
        maker = maker ? block->findAncestorOpInBlock(*maker) : nullptr;
        if (!maker || maker == op)
          continue;
        users_[place_.lookup(maker)].push_back(place);
        ++waiting_[place];
      }
    });
  }

  void count() {
    llvm::SmallVector<unsigned> ready;
    for (unsigned place = 0; place < waiting_.size(); ++place)
      if (waiting_[place] == 0)
        ready.push_back(place);
    while (!ready.empty()) {
      unsigned maker = ready.pop_back_val();
      for (unsigned user : users_[maker]) {
        round_[user] =
            std::max(round_[user], round_[maker] + (maker > user ? 1 : 0));
        if (--waiting_[user] == 0)
          ready.push_back(user);
      }
    }
  }

  llvm::DenseMap<Operation *, unsigned> place_;
  std::vector<unsigned> round_, waiting_;
  std::vector<llvm::SmallVector<unsigned, 2>> users_;
};

} // namespace

void gradus::sortByOperands(Block &block) {
  if (block.empty())
    return;
  llvm::SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  Operation *last = nullptr;
  if (ops.back()->hasTrait<OpTrait::IsTerminator>())
    last = ops.pop_back_val();
  for (unsigned place : Rounds(ops).order())
    ops[place]->moveBefore(&block, last ? last->getIterator() : block.end());
}
