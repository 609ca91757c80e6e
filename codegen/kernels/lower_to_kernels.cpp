// Makes kernels of the ops that need loops and scratch of their own. Their
// sources are lower_*.cpp beside this one.

#include "codegen/kernels/lower_to_kernels.h"

#include "codegen/plan/passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/TypeSwitch.h"

namespace gradus {
#define GEN_PASS_DEF_LOWERTOKERNELS
#include "codegen/plan/passes.h.inc"

using namespace mlir;

namespace {

/// Returns the values that stand for an op's results; none for an op that is
/// no kernel of its own.
/// Op list: it calls the overloads of `lowerToKernel`, and `lowerPooled`.
SmallVector<Value> lower(OpBuilder &builder, Operation *op,
                         KernelTable &kernels, bool pooled) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case<AttentionOp, AttentionBackwardOp, GramOp, InverseOp,
            plan::WinogradOp>(
          [&](auto known) { return lowerToKernel(builder, known, kernels); })
      .Case<ConvolutionBackwardDataOp, ConvolutionBackwardWeightsOp>(
          [&](auto known) {
            return pooled ? lowerPooled(builder, known, kernels)
                          : SmallVector<Value>();
          })
      .Default(SmallVector<Value>());
}

/// The ops that a convolution by Winograd's algorithm was lowered to. Equal
/// convolutions, such as those of a layer's shape, get copies: to build a
/// kernel that is known already takes long. (Kernels of attention read tensors
/// that its operands are parts of, so types and attributes do not make them
/// equal.)
struct Lowered {
  DictionaryAttr attributes;
  SmallVector<Type> types; // of the operands, then of the results
  SmallVector<Value> operands, values;
  SmallVector<Operation *> ops;

  explicit Lowered(plan::WinogradOp op)
      : attributes(op->getAttrDictionary()), types(op->getOperandTypes()),
        operands(op->getOperands()) {
    llvm::append_range(types, op->getResultTypes());
  }

  /// Whether operands tell which is which: none stands twice.
  bool isCopyable() const {
    llvm::SmallDenseSet<Value> distinct(operands.begin(), operands.end());
    return distinct.size() == operands.size();
  }

  bool operator==(const Lowered &other) const {
    return attributes == other.attributes && types == other.types;
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
    if (threads < 1) {
      getOperation().emitError("lower-to-kernels: threads is ")
          << threads.getValue() << ", expected at least 1";
      return signalPassFailure();
    }
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
    auto convolution = dyn_cast<plan::WinogradOp>(op);
    SmallVector<Value> values =
        convolution ? convolved(builder, convolution, kernels, known)
                    : lower(builder, op, kernels, pooled);
    if (auto call = dyn_cast<plan::LibraryOp>(op); call && matmuls)
      values = lowerToKernel(builder, call, kernels, threads);
    if (values.empty())
      return;
    if (isa<plan::LibraryOp>(op))
      remark::passed(op->getLoc(), remark::RemarkOpts::name("Lowered").category(
                                       getArgument()))
          << "matmul by kernels of our own instead of the library";
    op->replaceAllUsesWith(values);
    op->erase();
  }

  /// Lowers a convolution, or copies what an equal one was lowered to.
  SmallVector<Value> convolved(OpBuilder &builder, plan::WinogradOp op,
                               KernelTable &kernels,
                               std::vector<Lowered> &known) {
    Lowered own(op);
    if (!own.isCopyable())
      return lower(builder, op, kernels, pooled);
    if (auto same = llvm::find(known, own); same != known.end())
      return same->copyFor(builder, own, op.getLoc());
    Operation *before = op->getPrevNode();
    own.values = lower(builder, op, kernels, pooled);
    Block::iterator first =
        before ? std::next(before->getIterator()) : op->getBlock()->begin();
    for (Operation &made : llvm::make_range(first, op->getIterator()))
      own.ops.push_back(&made);
    known.push_back(own);
    return own.values;
  }
};

} // namespace
} // namespace gradus
