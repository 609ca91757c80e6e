// Computes the gradient of the loss for every trained parameter.
//
// Reverse mode over the ops of @train, which are in order of computation. The
// results are one gradus.update per parameter, on which gradient methods build.

#include "ir/add_up.h"
#include "ir/build.h"
#include "ir/gradient_ops.h"
#include "ir/scan_ops.h"
#include "passes/computation.h"
#include "passes/deferred_factor.h"
#include "passes/gradients/followed.h"
#include "passes/loss_scale.h"
#include "passes/optimizers/parameters.h"
#include "passes/passes.h"
#include "passes/train_graphs.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace gradus {
#define GEN_PASS_DEF_AUTODIFF
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// Adds the gradients of a graph's trained parameters.
class Differentiation {
public:
  Differentiation(GraphOp graph, ArrayRef<StateOp> trained)
      : graph_(graph), builder_(graph.getBody().front().getTerminator()) {
    for (StateOp state : trained)
      parameters.insert({state.getSymName(), nullptr});
  }

  /// Marks the float values that depend on a trained parameter.
  void markActive();

  /// Walks the ops backwards from the loss, whose gradient is the seed, and
  /// sums the gradients. Reports all ops without a gradient rule at once.
  LogicalResult run(Value loss, ProgramOp program);

  /// The op nearest to the loss that depends on the parameter and passes it no
  /// gradient, such as one that rounds; null if there is none.
  Operation *whereItStops(Value loss, StringRef parameter);

  /// The gradient of each parameter, null if it does not reach the loss.
  llvm::MapVector<StringRef, Value> parameters;

private:
  void passBack(Operation *op);
  void passPast(Operation *op);
  void passZeros(Operation *op);
  DenseSet<Value> activeIn(ScanOp scan);
  SmallVector<Operation *> withoutRuleIn(ScanOp scan);
  Value gradientOf(Value value);
  LogicalResult reportMissingRules();
  bool hasGradient(Operation *op);

  GraphOp graph_;
  OpBuilder builder_;
  DenseSet<Value> active_;
  /// The gradients that the uses of a value give it.
  DenseMap<Value, SmallVector<Value, 1>> gradients_;
  /// Ops without a rule that gradients reach, the nearest to the loss first;
  /// also those in the bodies of scans.
  SmallVector<Operation *> withoutRule_;
};

void Differentiation::markActive() {
  for (Operation &op : graph_.getBody().front()) {
    auto read = dyn_cast<ReadOp>(op);
    bool starts = read && parameters.contains(read.getState());
    bool continues = llvm::any_of(followed(op), [&](OpOperand &operand) {
      return active_.contains(operand.get());
    });
    if (starts || continues)
      for (Value result : llvm::make_filter_range(op.getResults(), isFloat))
        active_.insert(result);
  }
}

LogicalResult Differentiation::run(Value loss, ProgramOp program) {
  SmallVector<Operation *> forward;
  for (Operation &op : graph_.getBody().front().without_terminator())
    forward.push_back(&op);
  Value seed = seedOfLoss(builder_, loss.getLoc(), program,
                          cast<RankedTensorType>(loss.getType()));
  if (!seed)
    return failure();
  if (active_.contains(loss))
    gradients_[loss].push_back(seed);
  for (Operation *op : llvm::reverse(forward))
    if (hasGradient(op))
      passBack(op);
  return reportMissingRules();
}

bool Differentiation::hasGradient(Operation *op) {
  return llvm::any_of(op->getResults(), [&](Value result) {
    return gradients_.contains(result);
  });
}

/// Passes the gradients of an op's results to its operands, or to the parameter
/// that it reads.
void Differentiation::passBack(Operation *op) {
  if (auto read = dyn_cast<ReadOp>(op)) {
    Value &sum = parameters[read.getState()];
    Value gradient = gradientOf(read.getResult());
    sum = sum ? arith::AddFOp::create(builder_, op->getLoc(), sum, gradient)
              : gradient;
    return;
  }
  auto differentiable = dyn_cast<Differentiable>(op);
  if (!differentiable)
    return passPast(op);
  if (auto scan = dyn_cast<ScanOp>(op))
    if (SmallVector<Operation *> missing = withoutRuleIn(scan);
        !missing.empty()) {
      llvm::append_range(withoutRule_, missing);
      return passZeros(op);
    }
  SmallVector<Value> ofResults;
  for (Value result : op->getResults())
    ofResults.push_back(gradientOf(result));
  SmallVector<Value> ofOperands = differentiable.pullback(builder_, ofResults);
  for (auto [operand, gradient] :
       llvm::zip_equal(op->getOperands(), ofOperands))
    if (gradient && active_.contains(operand))
      gradients_[operand].push_back(gradient);
}

/// Notes an op without a rule.
void Differentiation::passPast(Operation *op) {
  withoutRule_.push_back(op);
  passZeros(op);
}

/// Continues past an op with zeros, to find all ops without a rule.
void Differentiation::passZeros(Operation *op) {
  for (Value operand : op->getOperands())
    if (active_.contains(operand))
      gradients_[operand].push_back(splatLike(builder_, operand, 0));
}

/// The values of a scan's body that depend on a trained parameter.
DenseSet<Value> Differentiation::activeIn(ScanOp scan) {
  Block &block = scan.getBodyBlock();
  DenseSet<Value> active;
  for (auto [argument, operand] :
       llvm::zip(block.getArguments(), scan.getOperands()))
    if (active_.contains(operand))
      active.insert(argument);
  for (size_t before = ~size_t(0); before != active.size();) {
    before = active.size();
    for (Operation &op : block.without_terminator())
      if (llvm::any_of(followed(op), [&](OpOperand &operand) {
            return active.contains(operand.get());
          }))
        for (Value result : llvm::make_filter_range(op.getResults(), isFloat))
          active.insert(result);
    for (auto [argument, next] :
         llvm::zip(scan.getCarriedArguments(), scan.getYielded()))
      if (active.contains(next))
        active.insert(argument);
  }
  return active;
}

/// The ops of a scan's body without a rule that gradients reach.
SmallVector<Operation *> Differentiation::withoutRuleIn(ScanOp scan) {
  DenseSet<Value> active = activeIn(scan), reached;
  for (auto [number, value] : llvm::enumerate(scan.getYielded()))
    if (number < scan.getCarried().size() ||
        gradients_.contains(scan.getResult(number)))
      reached.insert(value);
  SmallVector<Operation *> missing;
  for (Operation &op : llvm::reverse(scan.getBodyBlock().without_terminator()))
    if (llvm::any_of(op.getResults(), [&](Value result) {
          return reached.contains(result) && active.contains(result);
        })) {
      if (!isa<Differentiable>(op))
        missing.push_back(&op);
      for (OpOperand &operand : followed(op))
        reached.insert(operand.get());
    }
  return missing;
}

/// The sum of the gradients from all uses of a value; null if there are none.
Value Differentiation::gradientOf(Value value) {
  auto found = gradients_.find(value);
  return found == gradients_.end()
             ? Value()
             : addUp(builder_, value.getLoc(), found->second);
}

/// The trained parameters on which `op` depends, in order of computation.
SmallVector<StringRef>
parametersBehind(Operation *op,
                 const llvm::MapVector<StringRef, Value> &trained) {
  SmallVector<StringRef> names;
  SmallVector<Operation *> computation = computationOf(op);
  for (Operation *each : llvm::reverse(computation))
    if (auto read = dyn_cast<ReadOp>(each);
        read && trained.contains(read.getState()))
      names.push_back(read.getState());
  return names;
}

/// The ops of a graph that depend on a state.
DenseSet<Operation *> computedFrom(StringRef state, GraphOp graph) {
  DenseSet<Operation *> ops;
  for (Operation &op : graph.getBody().front()) {
    auto read = dyn_cast<ReadOp>(op);
    if ((read && read.getState() == state) ||
        llvm::any_of(op.getOperands(), [&](Value value) {
          return ops.contains(value.getDefiningOp());
        }))
      ops.insert(&op);
  }
  return ops;
}

Operation *Differentiation::whereItStops(Value loss, StringRef parameter) {
  if (!loss.getDefiningOp())
    return nullptr;
  DenseSet<Operation *> dependent = computedFrom(parameter, graph_);
  for (Operation *op : computationOf(loss.getDefiningOp())) {
    auto behind = llvm::make_filter_range(op->getOperands(), [&](Value value) {
      return active_.contains(value) &&
             dependent.contains(value.getDefiningOp());
    });
    if (!behind.empty() && llvm::none_of(behind, [&](Value value) {
          return gradients_.contains(value);
        }))
      return op;
  }
  return nullptr;
}

LogicalResult Differentiation::reportMissingRules() {
  Block &block = graph_.getBody().front();
  for (Operation *op : llvm::reverse(withoutRule_)) {
    InFlightDiagnostic error = op->emitError()
                               << "has no gradient rule, which cuts these "
                                  "parameters off from the loss: ";
    llvm::interleaveComma(
        parametersBehind(block.findAncestorOpInBlock(*op), parameters), error);
    if (op == withoutRule_.front())
      error.attachNote()
          << "a rule is an implementation of Differentiable (see "
             "docs/add_an_op.md); parameters that need no training go into the "
             "recipe's `fixed`";
  }
  return success(withoutRule_.empty());
}

/// Whether the gradients were already computed.
bool hasUpdates(GraphOp graph, ProgramOp program) {
  return llvm::any_of(graph.getBody().front(), [&](Operation &op) {
    if (auto write = dyn_cast<WriteOp>(op))
      return program.getState(write.getState()).getRole() == Role::parameter;
    return isa<ParameterUpdate>(op);
  });
}

struct AutodiffPass : impl::AutodiffBase<AutodiffPass> {
  using Base::Base;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    GraphOp train = program.getGraph(well_known::kTrain);
    if (train && !hasUpdates(train, program) &&
        failed(differentiate(program, train)))
      signalPassFailure();
  }

  LogicalResult differentiate(ProgramOp program, GraphOp train) {
    OpOperand *output = findLoss(train);
    Value loss = output ? output->get() : Value();
    auto type = loss ? dyn_cast<RankedTensorType>(loss.getType()) : nullptr;
    if (!type || type.getRank() != 0 || !isFloat(loss))
      return train.emitError(
          "has no output named \"loss\" that is one float, tensor<f32>");
    std::vector<StateOp> trained = trainedParameters(program);
    if (trained.empty())
      return program.emitError("has no parameter to train: none matches the "
                               "recipe's `trainable` and neither `fixed` nor a "
                               "group that is `frozen`");
    Differentiation differentiation(train, trained);
    differentiation.markActive();
    loss = deferredParts(loss).value; // the factor multiplies summed gradients
    if (failed(differentiation.run(loss, program)))
      return failure();
    return addUpdates(train, loss, differentiation);
  }

  LogicalResult addUpdates(GraphOp train, Value loss,
                           Differentiation &differentiation) {
    OpBuilder builder(train.getBody().front().getTerminator());
    SmallVector<StringRef> dead;
    for (auto [name, gradient] : differentiation.parameters) {
      report(train, name, bool(gradient));
      if (!gradient) {
        dead.push_back(name);
        continue;
      }
      auto symbol = FlatSymbolRefAttr::get(train.getContext(), name);
      UpdateOp::create(builder, gradient.getLoc(), symbol, gradient,
                       StringAttr(), FloatAttr());
    }
    Stops stops;
    for (StringRef name : dead)
      stops[differentiation.whereItStops(loss, name)].push_back(name);
    if (dead.size() == differentiation.parameters.size())
      return reportUntrained(train, stops);
    for (auto &[stop, names] : stops)
      warnOfDead(train, stop, names);
    return success();
  }

  /// The parameters by the op that stops their gradient; by null those without
  /// a path to the loss, such as a second head's.
  using Stops = llvm::MapVector<Operation *, SmallVector<StringRef>>;

  /// Reports that no parameter would change.
  static LogicalResult reportUntrained(GraphOp train, const Stops &stops) {
    for (auto &[stop, names] : stops)
      if (stop)
        return stop->emitError(whyItStops(stop))
               << ", and no other way leads from the loss to a trained "
                  "parameter";
    return train.emitError("has a loss that depends on no trained parameter");
  }

  static void warnOfDead(GraphOp train, Operation *stop,
                         ArrayRef<StringRef> names) {
    constexpr size_t kFew = 6;
    InFlightDiagnostic warning =
        mlir::emitWarning(stop ? stop->getLoc() : train.getLoc());
    if (stop)
      warning << whyItStops(stop)
              << ", and no other way leads from the loss to ";
    else
      warning << "the loss does not depend on ";
    warning << (names.size() == 1 ? "parameter " : "parameters ");
    llvm::interleaveComma(names.take_front(kFew), warning, [&](StringRef name) {
      warning << "\"" << name << "\"";
    });
    if (names.size() > kFew)
      warning << " and " << names.size() - kFew << " more";
    warning << ", so training leaves "
            << (names.size() == 1 ? "it as it is" : "them as they are");
  }

  static StringRef whyItStops(Operation *stop) {
    return isa<StopGradientOp>(stop)
               ? "stops the gradient, as `detach` in the model says"
               : "stops the gradient: its result does not follow small "
                 "changes";
  }

  void report(GraphOp train, StringRef parameter, bool reached) {
    if (reached)
      remark::passed(
          train.getLoc(),
          remark::RemarkOpts::name("Differentiated").category(getArgument()))
          << parameter << " has a gradient";
    else
      remark::missed(
          train.getLoc(),
          remark::RemarkOpts::name("Differentiated").category(getArgument()))
          << parameter << " does not reach the loss and stays as it is";
  }
};

} // namespace
} // namespace gradus
