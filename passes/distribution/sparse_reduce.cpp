// Sums a part of the elements of the ranks' gradients: the largest ones, or
// those that reach a threshold. What a rank has not sent waits in a state of
// its own and is added to its next gradient, so that nothing is lost (Strom,
// "Scalable distributed DNN training using commodity GPU cloud computing",
// Interspeech 2015; Aji and Heafield, "Sparse Communication for Distributed
// Gradient Descent", https://arxiv.org/abs/1704.05021). Momentum is added up
// before elements are selected, if the recipe says so (Lin et al., "Deep
// Gradient Compression", https://arxiv.org/abs/1712.01887).
//
// Runs behind data_parallel, which leaves gradients to it. A message has a
// fixed size, so the number of ranks is known when a step is compiled.

#include "passes/distribution.h"

#include "passes/distribution/own_values.h"
#include "passes/numbers.h"
#include "passes/optimizers/parameters.h"
#include "passes/optimizers/sgd.h"
#include "passes/passes.h"
#include "passes/step_variants.h"
#include "runtime/well_known.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Remarks.h"

#include <cmath>
#include <limits>

namespace gradus {
#define GEN_PASS_DEF_SPARSEREDUCE
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// An attribute of graphs whose gradients are shared already.
constexpr StringLiteral kSparse = "gradus.sparse";
/// The variant of the first updates.
constexpr StringLiteral kDense = "train_dense";

/// The elements of one gradient that a rank sends.
struct Part {
  ParameterUpdate update;
  Value indices, values; // as many of each

  int64_t count() const { return tensorType(indices).getDimSize(0); }
};

/// Parts that travel together, with values of one type.
struct Message {
  SmallVector<Part> parts;
  int64_t count = 0; // of values

  void add(const Part &part) {
    parts.push_back(part);
    count += part.count();
  }
  /// Bytes of a rank's entries.
  int64_t bytes() const {
    return gatheredBytes(tensorType(parts.front().indices).clone({count})) +
           gatheredBytes(tensorType(parts.front().values).clone({count}));
  }
};

/// The rule by which a rank adds up momentum by itself.
struct Momentum {
  Value factor; // a scalar
  bool nesterov;
};

struct SparseReducePass : impl::SparseReduceBase<SparseReducePass> {
  using Base::Base;

  void runOnOperation() override {
    settings = distributionOf(getOperation());
    if (!settings.isSparse())
      return;
    if (!settings.ranks) {
      recipe::keyError(getOperation(), "distribution.ranks")
          << "is null, but messages of sparse sums have the size of so many "
             "ranks";
      return signalPassFailure();
    }
    if (failed(warmUp()))
      return signalPassFailure();
    for (GraphOp train : trainGraphs(getOperation()))
      if (failed(reduce(train)))
        return signalPassFailure();
  }

private:
  //===-- the first updates -----------------------------------------------===//

  LogicalResult warmUp() {
    GraphOp train = getOperation().getGraph(kTrain);
    if (settings.sparse.warmup == 0 || !train || train->hasAttr(kSparse))
      return success();
    for (auto schedule : getOperation().getBody().getOps<ScheduleOp>())
      if (schedule.getGraph() == kTrain)
        return recipe::keyError(getOperation(), "distribution.warmup")
               << "excludes other variants of the step: accumulation, "
                  "gradient_freeze";
    GraphOp dense = cloneVariant(train, kDense, kUpdates);
    dense->setAttr(kSparse, UnitAttr::get(&getContext()));
    for (ParameterUpdate update : updatesOf(dense))
      if (failed(sumWhole(update, settings.sparse.momentumCorrection)))
        return failure();
    if (failed(sumFrozen(dense)))
      return failure();
    return addChoices(getOperation(), kDense.str(), /*first=*/1,
                      [&](OpBuilder &builder, Value update) {
                        Arithmetic math(builder, update.getLoc());
                        Value isEarly = math.compare(
                            arith::CmpIPredicate::slt, update,
                            math.number(settings.sparse.warmup, update));
                        return math.select(isEarly, math.number(1, update),
                                           math.number(0, update));
                      });
  }

  /// Gives an update the mean of all elements, or of all that ranks have added
  /// up by momentum.
  LogicalResult sumWhole(ParameterUpdate update, bool withMomentum) {
    OpBuilder builder(update);
    Arithmetic math(builder, update.getLoc());
    OpOperand &gradient = update.getGradientUse();
    Value own = gradient.get();
    if (withMomentum) {
      FailureOr<Velocity> velocity =
          addMomentum(math, update, heldOf(math, own));
      if (failed(velocity))
        return failure();
      writeState(builder, math.loc, nameOf(kMomentum, update), velocity->kept);
      own = convert(builder, math.loc, velocity->direction,
                    tensorType(own).getElementType());
    }
    Value total =
        sumOverRanks(builder, math.loc, own, update.getParameterName());
    gradient.set(settings.mean ? meanOf(math, total) : total);
    return success();
  }

  /// The mean over ranks of their sum.
  Value meanOf(const Arithmetic &math, Value total) {
    Value ranks = readRanks(math.builder, math.loc, getOperation());
    return math.divide(total, ranksLike(math, ranks, total));
  }

  //===-- what a rank sends -----------------------------------------------===//

  LogicalResult reduce(GraphOp train) {
    if (train->hasAttr(kSparse))
      return success();
    train->setAttr(kSparse, UnitAttr::get(&getContext()));
    llvm::MapVector<Type, Message> open; // by the type of values
    int64_t sent = 0, gradients = 0, elements = 0;
    if (failed(sumFrozen(train)))
      return failure();
    for (ParameterUpdate update : updatesOf(train)) {
      RankedTensorType type = tensorType(update.getGradientUse().get());
      if (type.getNumElements() == 0)
        continue;
      FailureOr<Part> part = select(update);
      if (failed(part))
        return failure();
      Message &message = open[tensorType(part->values).getElementType()];
      message.add(*part);
      ++gradients;
      elements += type.getNumElements();
      if (double(message.bytes()) * double(*settings.ranks) <
          settings.bucketBytes)
        continue;
      sent += message.bytes();
      if (failed(share(std::exchange(message, {}))))
        return failure();
    }
    for (auto &[type, message] : open) {
      if (message.parts.empty())
        continue;
      sent += message.bytes();
      if (failed(share(message)))
        return failure();
    }
    // Updates may stand in front of gradients of others.
    if (!sortTopologically(&train.getBody().front()))
      return train.emitError("@")
             << train.getSymName() << " has gradients that depend on updates";
    report(train, gradients, elements, sent);
    return success();
  }

  /// A gradient as it is selected, kept and added up: 16 bits are too few for
  /// what many steps add up.
  static Value heldOf(const Arithmetic &math, Value gradient) {
    if (tensorType(gradient).getElementType().isF64())
      return gradient;
    return convert(math.builder, math.loc, gradient, math.builder.getF32Type());
  }

  /// Selects what is sent of a gradient, and keeps the rest.
  FailureOr<Part> select(ParameterUpdate update) {
    if (int64_t size =
            tensorType(update.getGradientUse().get()).getNumElements();
        size > std::numeric_limits<int32_t>::max())
      return recipe::keyError(getOperation(), "distribution.reduce")
             << "is a sparse sum, whose indices have 32 bits, but "
             << update.getParameterName() << " has " << size << " elements";
    OpBuilder builder(update);
    Arithmetic math(builder, update.getLoc());
    Value pending = heldOf(math, update.getGradientUse().get()), kept;
    RankedTensorType type = tensorType(pending);
    if (settings.sparse.momentumCorrection) {
      FailureOr<Velocity> velocity = addMomentum(math, update, pending);
      if (failed(velocity))
        return failure();
      kept = velocity->kept;
      pending = velocity->direction;
    }
    if (settings.sparse.errorFeedback) {
      if (failed(ensureOwn(kResidual, update, type)))
        return failure();
      Value rest =
          readState(builder, math.loc, nameOf(kResidual, update), type);
      pending = math.add(rest, pending);
    }
    FailureOr<Part> part = largestOf(math, update, pending);
    if (failed(part))
      return failure();
    auto keep = [&](StringLiteral what, Value value) {
      writeState(
          builder, math.loc, nameOf(what, update),
          math.select(isSent(math, *part, type), math.number(0, value), value));
    };
    if (settings.sparse.errorFeedback)
      keep(kResidual, pending);
    if (kept)
      keep(kMomentum, kept);
    return part;
  }

  FailureOr<Part> largestOf(const Arithmetic &math, ParameterUpdate update,
                            Value pending) {
    int64_t size = tensorType(pending).getNumElements(), count = countOf(size);
    Type element = tensorType(pending).getElementType();
    Value threshold;
    if (settings.reduce == ReduceType::sparseThreshold) {
      threshold = readNumber(math.builder, math.loc, getOperation(),
                             *settings.sparse.threshold);
      if (!threshold)
        return failure();
      threshold = convert(math.builder, math.loc, threshold, element);
    }
    auto selected = SelectLargestOp::create(
        math.builder, math.loc,
        RankedTensorType::get({count}, math.builder.getI32Type()),
        RankedTensorType::get({count}, element),
        reshape(math.builder, math.loc, pending, {size}), threshold);
    return Part{update, selected.getIndices(), selected.getValues()};
  }

  /// The number of elements that are sent of so many: the smallest one that is
  /// at least the part. A part such as 0.07 of 100 is 7, although their product
  /// is rounded up.
  int64_t countOf(int64_t size) const {
    double part = settings.reduce == ReduceType::sparseTopk
                      ? *settings.sparse.ratio
                      : settings.sparse.capacity;
    double count = std::ceil(part * double(size) * (1 - 0x1p-50));
    return std::clamp<int64_t>(int64_t(count), 1, size);
  }

  static Value isSent(const Arithmetic &math, const Part &part,
                      RankedTensorType type) {
    Value ones = math.number(1, part.values);
    auto flat =
        RankedTensorType::get({type.getNumElements()}, type.getElementType());
    Value sent = ScatterAddOp::create(math.builder, math.loc, flat, ones,
                                      part.indices, /*axis=*/0,
                                      /*batch_dims=*/0);
    sent = reshape(math.builder, math.loc, sent, type.getShape());
    return math.greater(sent, math.number(0, sent));
  }

  //===-- momentum --------------------------------------------------------===//

  FailureOr<Momentum> momentumOf(const Arithmetic &math,
                                 ParameterUpdate update) {
    ParameterSettings own =
        ParameterGroups(getOperation()).settingsOf(update.getParameterName());
    if (own.optimizer().name != "sgd")
      return recipe::keyError(getOperation(),
                              "distribution.momentum_correction")
             << "is true, which adds up the momentum of sgd, but "
             << update.getParameterName() << " is moved by "
             << StringRef(own.optimizer().name);
    auto sgd = own.own.as<SgdSettings>();
    if (sgd.momentum.initial == 0 || sgd.dampening.initial != 0)
      return recipe::keyError(getOperation(),
                              "distribution.momentum_correction")
             << "is true, which needs a momentum without dampening, but the "
                "optimizer of "
             << update.getParameterName() << " has the momentum "
             << sgd.momentum.initial << " and the dampening "
             << sgd.dampening.initial;
    Value factor =
        readNumber(math.builder, math.loc, getOperation(), sgd.momentum);
    if (!factor)
      return failure();
    update->setAttr(kHasMomentum, math.builder.getUnitAttr());
    return Momentum{factor, sgd.nesterov};
  }

  /// The momentum with a gradient.
  FailureOr<Velocity> addMomentum(const Arithmetic &math,
                                  ParameterUpdate update, Value gradient) {
    FailureOr<Momentum> momentum = momentumOf(math, update);
    if (failed(momentum) ||
        failed(ensureOwn(kMomentum, update, tensorType(gradient))))
      return failure();
    Value old = readState(math.builder, math.loc, nameOf(kMomentum, update),
                          tensorType(gradient));
    return nextVelocity(math, momentum->factor, momentum->nesterov, old,
                        gradient);
  }

  //===-- what all send ---------------------------------------------------===//

  /// Gives the updates of a message the sums of what all ranks have sent.
  LogicalResult share(const Message &message) {
    Operation *last = message.parts.front().update;
    for (const Part &part : message.parts)
      if (last->isBeforeInBlock(part.update))
        last = part.update;
    OpBuilder builder(last);
    Arithmetic math(builder, last->getLoc());
    Value rank = readRank(builder, math.loc, getOperation());
    if (!rank)
      return failure();
    Value indices = ofAll(math, message, rank, &Part::indices),
          values = ofAll(math, message, rank, &Part::values);
    int64_t at = 0;
    for (Part part : message.parts) {
      OpOperand &gradient = part.update.getGradientUse();
      RankedTensorType type = tensorType(gradient.get());
      Value total =
          sumOf(math, entriesOf(math, indices, at, part.count()),
                entriesOf(math, values, at, part.count()), type.getShape());
      if (settings.mean)
        total = meanOf(math, total);
      gradient.set(convert(builder, math.loc, total, type.getElementType()));
      at += part.count();
    }
    return success();
  }

  /// The entries of all ranks, a row for each.
  Value ofAll(const Arithmetic &math, const Message &message, Value rank,
              Value Part::*of) {
    OpBuilder &builder = math.builder;
    SmallVector<Value> each;
    for (const Part &part : message.parts)
      each.push_back(part.*of);
    Type element = tensorType(each.front()).getElementType();
    Value own = each.front();
    if (each.size() > 1)
      own = ConcatenateOp::create(
          builder, math.loc, RankedTensorType::get({message.count}, element),
          each, /*axis=*/0);
    return gatherOverRanks(math, own, *settings.ranks, rank);
  }

  /// The entries of all ranks for one gradient, rank by rank.
  Value entriesOf(const Arithmetic &math, Value all, int64_t at,
                  int64_t count) {
    RankedTensorType type = tensorType(all);
    if (count != type.getDimSize(1))
      all = SliceOp::create(math.builder, math.loc,
                            RankedTensorType::get({type.getDimSize(0), count},
                                                  type.getElementType()),
                            all, ArrayRef<int64_t>{0, at},
                            ArrayRef<int64_t>{1, 1});
    return reshape(math.builder, math.loc, all, {type.getDimSize(0) * count});
  }

  /// Adds up values at their indices, rank by rank.
  static Value sumOf(const Arithmetic &math, Value indices, Value values,
                     ArrayRef<int64_t> shape) {
    auto flat = RankedTensorType::get({ShapedType::getNumElements(shape)},
                                      tensorType(values).getElementType());
    Value total = ScatterAddOp::create(math.builder, math.loc, flat, values,
                                       indices, /*axis=*/0, /*batch_dims=*/0);
    return reshape(math.builder, math.loc, total, shape);
  }

  //===-- states ----------------------------------------------------------===//

  static constexpr StringLiteral kResidual = "residual", kMomentum = "momentum";

  /// Cuts that have slots of their own have momentum of their own, too; a
  /// residual is one for all cuts.
  static std::string nameOf(StringLiteral what, ParameterUpdate update) {
    std::string cut;
    if (what == kMomentum)
      cut = slotSuffixOf(update->getParentOfType<GraphOp>());
    return (well_known::kLasting + what + cut + "/" + update.getParameterName())
        .str();
  }

  /// Adds a state that each rank has of its own.
  LogicalResult ensureOwn(StringLiteral what, ParameterUpdate update,
                          RankedTensorType type) {
    States states(getOperation());
    std::string name = nameOf(what, update);
    if (failed(states.ensure(name, type, Role::slot)))
      return failure();
    markOwn(states.find(name));
    return success();
  }

  SmallVector<ParameterUpdate> updatesOf(GraphOp graph, bool frozen = false) {
    ParameterGroups groups(getOperation());
    SmallVector<ParameterUpdate> updates;
    for (auto update : graph.getBody().front().getOps<ParameterUpdate>())
      if (groups.settingsOf(update.getParameterName()).isFrozen == frozen &&
          !update->hasAttr(kIsOfAllRanks))
        updates.push_back(update);
    return updates;
  }

  /// A program written by hand may update what is frozen: nothing moves it, but
  /// a norm of all gradients has it in it.
  LogicalResult sumFrozen(GraphOp graph) {
    for (ParameterUpdate update : updatesOf(graph, /*frozen=*/true))
      if (failed(sumWhole(update, /*withMomentum=*/false)))
        return failure();
    return success();
  }

  void report(GraphOp train, int64_t gradients, int64_t elements,
              int64_t sent) {
    int64_t ranks = *settings.ranks;
    double whole = 8.0 * double(elements) * double(ranks - 1) / double(ranks);
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("SparseReduce").category(getArgument()))
        << ("@" + train.getSymName() + ": each rank sends " + Twine(sent) +
            " bytes of " + Twine(gradients) + " gradients of " +
            Twine(elements) + " elements to each of " + Twine(ranks - 1) +
            " others; a whole sum in f32 sends " + Twine(int64_t(whole)) +
            " in all")
               .str();
  }

  DistributionSettings settings;
};

} // namespace
} // namespace gradus
