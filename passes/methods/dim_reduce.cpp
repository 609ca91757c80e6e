// Trains in the subspace of earlier checkpoints: DimReduce (Li et al., "Low
// Dimensional Trajectory Hypothesis is True: DNNs Can Be Trained in Tiny
// Subspaces", https://arxiv.org/abs/2103.11154).
//
// With the orthonormal rows P of the basis and the gradient g, the subspace's
// part P g goes to BFGS, whose step d is tried at its whole length and at a
// part of it: each trial is the loss of the same batch at other weights. The
// optimizer starts where the accepted step leads, and moves by what is left of
// the gradient, g - P^T P g.
//
// On several ranks g is the mean that they share anyway, so each computes P g
// alone. A trial's loss is copied with its sum over ranks, and is that of all
// samples: all accept the same one. Where rows are dealt to ranks, each has a
// part of P: P g is put together of all parts, and what is made of P^T is
// summed over them.

#include "passes/methods/dim_reduce.h"

#include "ir/evaluator/values_in_place.h"
#include "passes/computation.h"
#include "passes/methods/dealt_rows.h"
#include "passes/methods/quasi_newton.h"
#include "passes/numbers.h"
#include "passes/optimizers/parameters.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstring>

namespace gradus {
#define GEN_PASS_DEF_DIMREDUCE
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

constexpr StringLiteral kInverse = "dim_reduce/inverse_hessian",
                        kGradient = "dim_reduce/gradient",
                        kStepped = "dim_reduce/step",
                        kAccepted = "dim_reduce/accepted";
/// A pair of a step and its gradients' change counts where their product is
/// greater.
constexpr double kLeastCurvature = 1e-20;

/// A trained parameter and its rows of the basis, with values of one graph.
struct Part {
  ParameterUpdate update;
  Location loc;
  StringRef name;
  Value parameter; // as the step begins
  Value gradient;  // of f32
  Value basis;     // of f32, [components, elements]; or the rank's rows of it
  Value direction; // of the whole step, of f32
  Value rest;      // of the gradient, of f32; null until it is computed
};

/// The updates of trained parameters in a graph.
struct Step {
  GraphOp graph;
  SmallVector<ParameterUpdate> updates;
};

/// A step in the subspace, in vectors of as many numbers as there are
/// components.
struct SubspaceStep {
  Value inverse;   // the estimate, with the pair before this step
  Value gradient;  // P g
  Value direction; // d = -H P g
  Value slope;     // g d, a scalar
};

/// The trial that is accepted.
struct Accepted {
  Value any;    // a boolean scalar
  Value length; // a scalar of f32
};

struct DimReducePass : impl::DimReduceBase<DimReducePass> {
  using Base::Base;

  void runOnOperation() override {
    auto wanted = dimReduction().of(getOperation());
    bool isDone = bool(getOperation().getState(kAccepted));
    if (!wanted || isDone)
      return;
    settings = *wanted;
    rows = {};
    SmallVector<Step> steps;
    for (GraphOp train : trainGraphs(getOperation()))
      if (auto updates = updatesOf(train); !updates.empty())
        steps.push_back({train, updates});
    if (steps.empty()) {
      error() << "needs an update of a trained parameter, and the program has "
                 "none";
      return signalPassFailure();
    }
    for (const Step &step : steps)
      if (failed(check(step.updates)))
        return signalPassFailure();
    if (settings.isDealt && failed(deal(steps)))
      return signalPassFailure();
    for (const Step &step : steps)
      if (failed(reduce(step.graph, step.updates)))
        return signalPassFailure();
  }

private:
  /// The updates of what is trained: others that are written by hand go.
  SmallVector<ParameterUpdate> updatesOf(GraphOp train) {
    ParameterGroups groups(getOperation());
    SmallVector<ParameterUpdate> updates;
    for (auto update : train.getBody().front().getOps<ParameterUpdate>())
      if (!groups.settingsOf(update.getParameterName()).isFrozen)
        updates.push_back(update);
    return updates;
  }

  //===-- what is refused -------------------------------------------------===//

  InFlightDiagnostic error(const Twine &key = "") {
    return recipe::keyError(getOperation(), "dim_reduce" + key);
  }

  LogicalResult check(ArrayRef<ParameterUpdate> updates) {
    if (failed(checkOptimizers(updates)) || failed(checkBasis(updates)))
      return failure();
    return checkRest(updates);
  }

  LogicalResult checkOptimizers(ArrayRef<ParameterUpdate> updates) {
    ParameterGroups groups(getOperation());
    for (ParameterUpdate update : updates) {
      StringRef name = update.getParameterName();
      ParameterSettings own = groups.settingsOf(name);
      if (own.optimizer().preconditions)
        return error() << "excludes the optimizer " << own.optimizer().name
                       << ", which " << name
                       << " has: it gives a gradient other directions, also "
                          "those that the subspace has left";
      if (own.common.maximize)
        return error() << "excludes maximize, which the optimizer of " << name
                       << " has: a trial is accepted where the loss falls";
    }
    return success();
  }

  /// Checks the rows of each trained parameter.
  LogicalResult checkBasis(ArrayRef<ParameterUpdate> updates) {
    States states(getOperation());
    int64_t &components = rows.count;
    for (ParameterUpdate update : updates) {
      StringRef name = update.getParameterName();
      StateOp basis = states.find((kBasis + name).str());
      if (!basis)
        return reportMissing(name);
      auto type = cast<RankedTensorType>(basis.getType()),
           own = tensorType(update.getGradientUse().get());
      if (own.getElementTypeBitWidth() > 32)
        return error() << "computes in f32, and " << name << " is " << own;
      if (!components && type.getRank())
        components = type.getDimSize(0);
      SmallVector<int64_t> expected{components};
      llvm::append_range(expected, own.getShape());
      auto wanted =
          RankedTensorType::get(expected, Float32Type::get(&getContext()));
      if (!basis->hasAttr(kFixed))
        return error(".basis")
               << "is in the state " << basis.getSymName()
               << ", which steps may change; expected one that is fixed";
      if (type != wanted)
        return error(".basis")
               << "has " << type << " for " << name << ", expected " << wanted
               << ": the shape of the parameter for each of " << components
               << " directions";
    }
    if (settings.components && *settings.components != components)
      return error(".components")
             << "is " << *settings.components
             << ", and the program has a basis of " << components
             << " directions; name its file as dim_reduce.basis to choose "
                "among them";
    return success();
  }

  LogicalResult reportMissing(StringRef name) {
    if (!settings.basis)
      return error(".basis")
             << "is missing: the file with the directions of the subspace, "
                "which `gradus basis` makes of checkpoints";
    return error(".basis")
           << "has nothing for " << name << ", which is trained; it is of "
           << "other parameters: make one of checkpoints of this model";
  }

  /// Other parameters stay where they are, so directions must not move them.
  LogicalResult checkRest(ArrayRef<ParameterUpdate> updates) {
    llvm::DenseSet<StringRef> trained;
    for (ParameterUpdate update : updates)
      trained.insert(update.getParameterName());
    SmallVector<StringRef> moved;
    for (auto state : getOperation().getBody().getOps<StateOp>()) {
      StringRef name = state.getSymName();
      if (!name.consume_front(kBasis) || trained.contains(name))
        continue;
      if (!getOperation().getState(name))
        return reportUnknown(name);
      if (!cast<RankedTensorType>(state.getType()).getElementType().isF32() ||
          !isZero(state))
        moved.push_back(name);
    }
    return moved.empty() ? success() : reportMoved(moved);
  }

  LogicalResult reportUnknown(StringRef name) {
    if (llvm::is_contained(takenOut(getOperation()), name))
      return error(".basis")
             << "has " << name
             << ", which a method of the recipe takes out of the model; make "
                "a basis of checkpoints that were trained with that method";
    return error(".basis") << "has " << name
                           << ", which is no parameter of the model";
  }

  LogicalResult reportMoved(ArrayRef<StringRef> names) {
    constexpr size_t kFew = 6;
    size_t more = names.size() - std::min(names.size(), kFew);
    InFlightDiagnostic words = error(".basis")
                               << "moves what is not trained here: "
                               << llvm::join(names.take_front(kFew), ", ");
    if (more)
      words << " and " << more << " more";
    return words << "; train that, or make a basis of checkpoints that do not "
                    "differ in it";
  }

  static bool isZero(StateOp state) {
    ElementsAttr value = state.getValueAttr();
    if (!value)
      return state.getInit()->getRule() == Initializer::zeros;
    ArrayRef<char> bytes = bytesOfValues(value);
    for (size_t at = 0; at + sizeof(float) <= bytes.size();
         at += sizeof(float)) {
      float number;
      std::memcpy(&number, bytes.data() + at, sizeof(number));
      if (number != 0)
        return false;
    }
    return true;
  }

  //===-- ranks -----------------------------------------------------------===//

  /// Makes each rank's part of the rows its own. In one process they are whole.
  LogicalResult deal(ArrayRef<Step> steps) {
    DistributionSettings shared = distributionOf(getOperation());
    if (shared.mode == DistributionMode::none)
      return success();
    if (!shared.ranks)
      return error(".dealt")
             << "is true, which needs the number of processes that keep a part "
                "of the basis each: set distribution.ranks";
    rows.ranks = *shared.ranks;
    if (!rows.areDealt())
      return success();
    llvm::SetVector<StateOp> states;
    for (const Step &step : steps)
      for (ParameterUpdate update : step.updates)
        states.insert(getOperation().getState(
            (kBasis + update.getParameterName()).str()));
    for (StateOp state : states)
      rows.deal(state);
    return success();
  }

  /// Computes what is made of P^T: each rank adds up its own rows, and the sums
  /// of all travel together.
  LogicalResult sumRows(OpBuilder &builder, Location loc,
                        const SubspaceStep &step, MutableArrayRef<Part> parts) {
    Arithmetic math(builder, loc);
    Value rank = readRank(builder, loc, getOperation());
    if (!rank)
      return failure();
    Value direction = rows.ofOwn(math, step.direction, rank),
          gradient = rows.ofOwn(math, step.gradient, rank);
    for (Part &part : parts) {
      Value way = fromSubspace(part, direction, builder),
            inside = fromSubspace(part, gradient, builder);
      auto sums =
          AllReduceOp::create(builder, part.loc, ValueRange{way, inside});
      part.direction = sums.getResult(0);
      part.rest = restOf(part, sums.getResult(1), builder);
    }
    return success();
  }

  //===-- the step --------------------------------------------------------===//

  LogicalResult reduce(GraphOp train, ArrayRef<ParameterUpdate> updates) {
    OpOperand *output = findLoss(train);
    if (!output)
      return error() << "needs a loss to try steps by, and @train has none";
    Value loss = output->get();
    for (ParameterUpdate update : updates)
      update->moveBefore(train.getBody().front().getTerminator());
    OpBuilder builder(updates.front());
    Arithmetic math(builder, train.getLoc());
    SmallVector<Part> parts;
    for (ParameterUpdate update : updates)
      parts.push_back(partOf(builder, update));
    States states(getOperation());
    if (failed(addStates(states)))
      return failure();
    FailureOr<SubspaceStep> step = stepOf(math, parts);
    if (failed(step) || failed(findWays(builder, train.getLoc(), *step, parts)))
      return failure();
    FailureOr<Accepted> accepted = search(math, loss, parts, *step, states);
    if (failed(accepted))
      return failure();
    for (const Part &part : parts)
      finish(part, *step, *accepted, builder);
    write(math, *step, *accepted);
    report(train, parts.size());
    return success();
  }

  /// The basis lies in memory as rows, and products with it are sums along or
  /// across them.
  Part partOf(OpBuilder &builder, ParameterUpdate update) {
    Location loc = update.getLoc();
    Value gradient = update.getGradientUse().get();
    RankedTensorType type = tensorType(gradient);
    SmallVector<int64_t> shape{rows.ofRank()};
    llvm::append_range(shape, type.getShape());
    Type f32 = builder.getF32Type();
    std::string name = update.getParameterName().str();
    return {update,
            loc,
            update.getParameterName(),
            readState(builder, loc, name, type),
            convert(builder, loc, gradient, f32),
            readState(builder, loc, (kBasis + name).str(),
                      RankedTensorType::get(shape, f32)),
            /*direction=*/Value(),
            /*rest=*/Value()};
  }

  RankedTensorType vectorType() {
    return RankedTensorType::get({rows.count}, Float32Type::get(&getContext()));
  }
  RankedTensorType matrixType() {
    return vectorType().clone({rows.count, rows.count});
  }
  RankedTensorType counterType() {
    return RankedTensorType::get({}, IntegerType::get(&getContext(), 64));
  }

  LogicalResult addStates(States &states) {
    if (failed(states.ensure(kInverse, matrixType(), Role::slot)) ||
        failed(states.ensure(kGradient, vectorType(), Role::slot)) ||
        failed(states.ensure(kStepped, vectorType(), Role::slot)) ||
        failed(states.ensure(kAccepted, counterType(), Role::counter)))
      return failure();
    std::vector<float> identity(rows.count * rows.count, 0.0f);
    for (int64_t i = 0; i < rows.count; ++i)
      identity[i * rows.count + i] = 1;
    StateOp inverse = states.find(kInverse);
    inverse.removeInitAttr();
    inverse.setValueAttr(
        DenseElementsAttr::get(matrixType(), ArrayRef<float>(identity)));
    return success();
  }

  /// P g of all parameters: for each row the sum of its products.
  FailureOr<Value> toSubspace(const Arithmetic &math, ArrayRef<Part> parts) {
    Value total;
    for (const Part &part : parts) {
      Arithmetic own(math.builder, part.loc);
      RankedTensorType type = tensorType(part.basis);
      SmallVector<int64_t> axes = axesExcept(type.getRank(), {0});
      Value spread = broadcast(math.builder, own.loc, part.gradient,
                               type.getShape(), axes);
      Value sums =
          sum(math.builder, own.loc, own.multiply(part.basis, spread), axes);
      total = total ? math.add(total, sums) : sums;
    }
    if (!rows.areDealt())
      return total;
    Value rank = readRank(math.builder, math.loc, getOperation());
    if (!rank)
      return failure();
    return rows.ofAll(math, total, rank);
  }

  /// P^T v for one parameter: the sum of its rows, each times a number.
  static Value fromSubspace(const Part &part, Value vector,
                            OpBuilder &builder) {
    Arithmetic math(builder, part.loc);
    Value factors = broadcast(builder, math.loc, vector,
                              tensorType(part.basis).getShape(), {0});
    return sum(builder, math.loc, math.multiply(part.basis, factors), {0});
  }

  /// The estimate learns of the last accepted step, whose gradient there was
  /// that of another batch.
  FailureOr<SubspaceStep> stepOf(const Arithmetic &math, ArrayRef<Part> parts) {
    SubspaceStep step;
    FailureOr<Value> inside = toSubspace(math, parts);
    if (failed(inside))
      return failure();
    step.gradient = *inside;
    Value before = readState(math.builder, math.loc, kInverse, matrixType()),
          last = readState(math.builder, math.loc, kGradient, vectorType()),
          stepped = readState(math.builder, math.loc, kStepped, vectorType());
    step.inverse =
        inverseAfterStep(math, before, stepped,
                         math.subtract(step.gradient, last), kLeastCurvature);
    step.direction =
        math.negate(timesVector(math, step.inverse, step.gradient));
    step.slope = innerProduct(math, step.gradient, step.direction);
    return step;
  }

  /// Finds the way of each parameter in the whole step. Without ranks that
  /// share rows the rest of gradients is computed where it is used.
  LogicalResult findWays(OpBuilder &builder, Location loc,
                         const SubspaceStep &step,
                         MutableArrayRef<Part> parts) {
    if (rows.areDealt())
      return sumRows(builder, loc, step, parts);
    for (Part &part : parts)
      part.direction = fromSubspace(part, step.direction, builder);
    return success();
  }

  /// Computes the rest of a gradient, which its part in the subspace leaves.
  static Value restOf(const Part &part, Value inside, OpBuilder &builder) {
    return Arithmetic(builder, part.loc).subtract(part.gradient, inside);
  }

  /// A parameter moved along its direction, of the parameter's type.
  static Value moved(const Part &part, Value length, OpBuilder &builder) {
    Arithmetic math(builder, part.loc);
    Value way =
        math.multiply(spreadLike(math, length, part.direction), part.direction);
    Value wide =
        convert(builder, math.loc, part.parameter, builder.getF32Type());
    return convert(builder, math.loc, math.add(wide, way),
                   tensorType(part.parameter).getElementType());
  }

  /// Returns whether the loss falls by a part of what the slope predicts for a
  /// step (Armijo's rule).
  static Value falls(const Arithmetic &math, Value loss, ArrayRef<Part> parts,
                     const SubspaceStep &step, Value length, Value decrease) {
    llvm::StringMap<Value> candidates;
    for (const Part &part : parts)
      candidates[part.name] = moved(part, length, math.builder);
    Value there = valueAt(math.builder, loss, candidates);
    auto wide = [&](Value value) {
      return convert(math.builder, math.loc, value, math.builder.getF32Type());
    };
    Value bound = math.multiply(math.multiply(decrease, length), step.slope);
    return math.greater(math.add(wide(loss), bound), wide(there));
  }

  /// Tries the whole step, and a part of it.
  FailureOr<Accepted> search(const Arithmetic &math, Value loss,
                             ArrayRef<Part> parts, const SubspaceStep &step,
                             States &states) {
    Value contraction =
              readNumber(math.builder, math.loc, states, settings.contraction),
          decrease =
              readNumber(math.builder, math.loc, states, settings.decrease);
    if (!contraction || !decrease)
      return failure();
    Type f32 = math.builder.getF32Type();
    Value shorter = convert(math.builder, math.loc, contraction, f32);
    decrease = convert(math.builder, math.loc, decrease, f32);
    Value whole = math.number(1, shorter);
    Value first = falls(math, loss, parts, step, whole, decrease),
          second = falls(math, loss, parts, step, shorter, decrease);
    return Accepted{math.make<arith::OrIOp>(first, second),
                    math.select(first, whole, shorter)};
  }

  /// The optimizer moves the rest of the gradient from where the step leads.
  static void finish(const Part &part, const SubspaceStep &step,
                     const Accepted &accepted, OpBuilder &builder) {
    ParameterUpdate update = part.update;
    Arithmetic math(builder, update.getLoc());
    RankedTensorType type = tensorType(part.parameter);
    Value moves =
        broadcastScalar(builder, math.loc, accepted.any, type.getShape());
    writeState(builder, math.loc, update.getParameterName(),
               math.select(moves, moved(part, accepted.length, builder),
                           part.parameter));
    Value rest = part.rest;
    if (!rest)
      rest = restOf(part, fromSubspace(part, step.gradient, builder), builder);
    update.getGradientUse().set(
        convert(builder, math.loc, rest, type.getElementType()));
  }

  /// A step that is not accepted leaves the estimate as it was.
  void write(const Arithmetic &math, const SubspaceStep &step,
             const Accepted &accepted) {
    OpBuilder &builder = math.builder;
    auto keep = [&](StringRef name, Value value) {
      RankedTensorType type = tensorType(value);
      Value any =
          broadcastScalar(builder, math.loc, accepted.any, type.getShape());
      writeState(
          builder, math.loc, name,
          math.select(any, value, readState(builder, math.loc, name, type)));
    };
    keep(kInverse, step.inverse);
    keep(kGradient, step.gradient);
    keep(kStepped,
         math.multiply(spreadLike(math, accepted.length, step.direction),
                       step.direction));
    Value count = readState(builder, math.loc, kAccepted, counterType());
    keep(kAccepted, math.add(count, math.number(1, count)));
  }

  void report(GraphOp train, size_t parameters) {
    remark::passed(train.getLoc(),
                   remark::RemarkOpts::name("Reduced").category(getArgument()))
        << std::to_string(rows.count) << " directions of "
        << std::to_string(parameters)
        << " parameters go to BFGS, the rest of their gradients to the "
           "optimizer";
    if (rows.areDealt())
      remark::passed(train.getLoc(),
                     remark::RemarkOpts::name("Dealt").category(getArgument()))
          << ("@" + train.getSymName() + ": of " + Twine(rows.count) +
              " directions each of " + Twine(rows.ranks) + " ranks has " +
              Twine(rows.ofRank()))
                 .str();
  }

  DimReduceSettings settings;
  DealtRows rows; // of the basis
};

recipe::Field dimReduceKey() {
  using enum recipe::Kind;
  using recipe::Field, recipe::Keys;
  using Own = DimReduceSettings;
  const Keys<Own> keys = {
      Field{"basis", text, "null",
            "the file of directions, which `gradus basis` makes of "
            "checkpoints"}
          .into(&Own::basis),
      Field{"components", integer, "null",
            "how many of its directions are used, the first ones; null: all"}
          .from(1)
          .into(&Own::components),
      Field{"contraction", number, "0.55",
            "length of the second trial's step, as part of the first one's"}
          .positive()
          .below(1)
          .into(&Own::contraction),
      Field{"sufficient_decrease", number, "0.4",
            "part of the decrease that the slope predicts for a step by which "
            "the loss must fall"}
          .positive()
          .below(1)
          .into(&Own::decrease),
      Field{"dealt", boolean, "false",
            "whether each of distribution.ranks processes keeps a part of the "
            "directions, and gets what the others make of theirs; else each "
            "keeps all"}
          .into(&Own::isDealt)};
  return Field{"dim_reduce", object, "null",
               "quasi-Newton steps in the subspace of earlier checkpoints; the "
               "optimizer moves the rest"}
      .of(keys)
      .shortFor("basis")
      .switched()
      .flagged();
}

} // namespace

const recipe::Method<DimReduceSettings> &dimReduction() {
  static const recipe::Method<DimReduceSettings> method{dimReduceKey()};
  return method;
}

} // namespace gradus
