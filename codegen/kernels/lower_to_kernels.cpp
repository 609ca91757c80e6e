// Makes kernels of the ops that need loops and scratch of their own. Their
// sources are lower_*.cpp beside this one.

#include "codegen/kernels/lower_to_kernels.h"

#include "codegen/plan/passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

namespace gradus {
#define GEN_PASS_DEF_LOWERTOKERNELS
#include "codegen/plan/passes.h.inc"

using namespace mlir;

namespace {

/// Returns the values that stand for an op's results; none for an op that is
/// no kernel of its own.
/// Op list: it calls the overloads of `lowerToKernel`.
SmallVector<Value> lower(OpBuilder &builder, Operation *op,
                         KernelTable &kernels) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case<AttentionOp, AttentionBackwardOp, GramOp, InverseOp,
            plan::WinogradOp>(
          [&](auto known) { return lowerToKernel(builder, known, kernels); })
      .Default(SmallVector<Value>());
}

/// What one of Winograd's convolutions was lowered to. Equal ones, such as
/// those of a layer's shape, get copies: to build a kernel that is known
/// already takes long. (Of other ops kernels depend on more than types and
/// attributes: those of attention read tensors that its operands are parts of.)
struct Lowered {
  OperationName name;
  DictionaryAttr attributes;
  SmallVector<Type> types; // of the operands, then of the results
  SmallVector<Value> operands, values;
  SmallVector<Operation *> ops;

  explicit Lowered(Operation *op)
      : name(op->getName()), attributes(op->getAttrDictionary()),
        types(op->getOperandTypes()), operands(op->getOperands()) {
    llvm::append_range(types, op->getResultTypes());
  }

  /// Whether operands tell which is which: none stands twice.
  bool isCopyable() const {
    llvm::SmallDenseSet<Value> distinct(operands.begin(), operands.end());
    return name.getStringRef() == plan::WinogradOp::getOperationName() &&
           distinct.size() == operands.size();
  }

  bool operator==(const Lowered &other) const {
    return name == other.name && attributes == other.attributes &&
           types == other.types;
  }

  /// Copies the ops for other operands; returns the values for an equal op.
  SmallVector<Value> copyFor(OpBuilder &builder, const Lowered &other,
                             Location location) const {
    IRMapping map;
    map.map(operands, other.operands);
    for (Operation *op : ops)
      builder.clone(*op, map)->walk(
          [&](Operation *copy) { copy->setLoc(location); });
    return llvm::map_to_vector(
        values, [&](Value value) { return map.lookupOrDefault(value); });
  }
};

struct LowerToKernels : impl::LowerToKernelsBase<LowerToKernels> {
  using Base::Base;

  void runOnOperation() override {
    KernelTable kernels(getOperation());
    for (auto graph : getOperation().getBody().getOps<GraphOp>()) {
      std::vector<Lowered> known;
      for (Operation &op : llvm::make_early_inc_range(graph.getBody().front()))
        replace(&op, kernels, known);
    }
  }

  /// An op that nobody uses gets no kernel: lower-to-nests erases it.
  void replace(Operation *op, KernelTable &kernels,
               std::vector<Lowered> &known) {
    if (op->use_empty())
      return;
    if (pairs)
      readPairs(op);
    OpBuilder builder(op);
    Lowered own(op);
    auto same = llvm::find(known, own);
    if (own.isCopyable() && same != known.end()) {
      own.values = same->copyFor(builder, own, op->getLoc());
    } else {
      Operation *before = op->getPrevNode();
      own.values = lower(builder, op, kernels);
      if (own.values.empty())
        return;
      for (Operation &made :
           llvm::make_range(before ? std::next(before->getIterator())
                                   : op->getBlock()->begin(),
                            op->getIterator()))
        own.ops.push_back(&made);
      if (own.isCopyable())
        known.push_back(own);
    }
    op->replaceAllUsesWith(own.values);
    op->erase();
  }
};

} // namespace
} // namespace gradus
