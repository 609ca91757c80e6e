// Shares updates out among ranks: each of them updates a part of each
// parameter, and remembers what the optimizer needs for that part (ZeRO-1).
//
// Runs behind all that makes an update, and looks at finished arithmetic: it
// knows no optimizer. A sum over ranks is made in two halves with the update in
// between, so as many bytes travel as without.

#include "passes/distribution.h"

#include "ir/arithmetic.h"
#include "passes/numbers.h"
#include "passes/passes.h"
#include "passes/train_graphs.h"
#include "recipe/settings.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace gradus {
#define GEN_PASS_DEF_SHARDUPDATE
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// A tensor of no more bytes has no smaller part.
constexpr int64_t kPartBytes = 64;

int64_t elementBytes(Type type) {
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8;
}

/// The parts into which tensors of floats fall.
struct PartSizes {
  int64_t ranks = 1;
  int64_t unit = 1; // elements of 64 bytes of the narrowest type

  RankedTensorType partOf(Type whole) const {
    auto type = cast<RankedTensorType>(whole);
    int64_t each = llvm::divideCeil(type.getNumElements(), ranks);
    return RankedTensorType::get(llvm::alignTo(each, unit),
                                 type.getElementType());
  }
  /// Whether parts have elements behind the end of the whole.
  bool hasPadding(Type whole) const {
    return partOf(whole).getNumElements() * ranks !=
           cast<RankedTensorType>(whole).getNumElements();
  }
};

/// The parameters and slots that are shared out, in all graphs alike.
struct Shares {
  PartSizes sizes;
  llvm::StringMap<std::string> whole; // parameters that are not, and why
  llvm::StringSet<> slots;

  bool isShared(StringRef parameter) const {
    return !whole.contains(parameter);
  }
};

/// The sum of a parameter's gradient over the ranks; empty for other ops.
StringRef gradientOf(Operation *op) {
  auto sum = dyn_cast_or_null<AllReduceOp>(op);
  bool isPlain = sum && sum.isWhole() && sum.getAxis() == kDataAxis &&
                 sum.getNumOperands() == 1;
  return isPlain ? sum.getParameter(0) : StringRef();
}

bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 && isPure(op) &&
         (OpTrait::hasElementwiseMappableTraits(op) || isa<Elementwise>(op)) &&
         llvm::all_of(op->getOperandTypes(), [&](Type type) {
           return cast<ShapedType>(type).getShape() ==
                  cast<ShapedType>(op->getResult(0).getType()).getShape();
         });
}

bool isSplat(Operation *op) {
  auto constant = dyn_cast_or_null<arith::ConstantOp>(op);
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

/// The sum or the mean of all elements of a tensor.
bool reducesAll(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && reduce.getType().getRank() == 0 &&
         isa<FloatType>(reduce.getType().getElementType()) &&
         (reduce.getKind() == Reduction::sum ||
          reduce.getKind() == Reduction::mean);
}

//===-- what can be shared out --------------------------------------------===//

/// The values of a graph of which a rank can compute its part alone.
class Parted {
public:
  Parted(GraphOp graph, const Shares &shares) : shares_(shares) {
    for (Operation &op : graph.getBody().front()) {
      if (op.getNumResults() != 1 || !canBe(&op))
        continue;
      parted_.insert(op.getResult(0));
      if (follows(&op))
        following_.insert(op.getResult(0));
    }
    for (auto write : graph.getBody().front().getOps<WriteOp>())
      if (following_.contains(write.getValue()) && isOfShared(write))
        updates_.insert(write.getValue());
  }

  bool contains(Value value) const { return parted_.contains(value); }
  /// Whether a value follows from what ranks have parts of alone.
  bool follows(Value value) const { return following_.contains(value); }
  /// Whether a value is the new one of a parameter, which all ranks get.
  bool isUpdate(Value value) const { return updates_.contains(value); }
  bool isPartialSum(Operation *op) const {
    return reducesAll(op) && follows(op->getOperand(0));
  }
  /// Whether a write gets a part.
  bool isOfSlot(WriteOp write) const {
    return shares_.slots.contains(write.getState());
  }
  bool isOfShared(WriteOp write) const {
    return written_.contains(write.getState());
  }

private:
  bool canBe(Operation *op) {
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type || type.getRank() == 0)
      return false;
    if (StringRef parameter = gradientOf(op); !parameter.empty()) {
      if (shares_.isShared(parameter))
        written_.insert(parameter);
      return shares_.isShared(parameter);
    }
    if (isa<ReadOp>(op))
      return isa<FloatType>(type.getElementType());
    if (auto spread = dyn_cast<BroadcastOp>(op))
      return tensorType(spread.getInput()).getRank() == 0;
    return isSplat(op) || (isElementwise(op) &&
                           llvm::all_of(op->getOperands(), [&](Value value) {
                             return parted_.contains(value);
                           }));
  }

  bool follows(Operation *op) const {
    if (auto read = dyn_cast<ReadOp>(op))
      return shares_.slots.contains(read.getState());
    return !gradientOf(op).empty() ||
           llvm::any_of(op->getOperands(),
                        [&](Value value) { return follows(value); });
  }

  const Shares &shares_;
  llvm::DenseSet<Value> parted_, following_, updates_;
  llvm::StringSet<> written_; // parameters whose gradient is here
};

/// Finds what has to stay whole in a graph.
class Demands {
public:
  Demands(GraphOp graph, const Parted &parted) : parted_(parted) {
    for (Operation &op : graph.getBody().front()) {
      auto write = dyn_cast<WriteOp>(op);
      bool isReplaced =
          write ? parted.isOfSlot(write) || parted.isUpdate(write.getValue())
                : isPure(&op) && !op.hasTrait<OpTrait::IsTerminator>();
      if (!isReplaced)
        demand(&op);
    }
    while (!open_.empty())
      demand(open_.pop_back_val());
  }

  /// Whether something needs the whole of what an op gives.
  bool has(Operation *op) const { return users_.contains(op); }
  /// The op for which what one gives is computed whole: it cannot work on
  /// parts.
  Operation *reasonFor(Operation *op) const {
    Operation *user = users_.lookup(op);
    while (user->getNumResults() == 1 && parted_.contains(user->getResult(0)) &&
           has(user))
      user = users_.lookup(user);
    return user;
  }

private:
  /// A sum of parts needs no whole, and a new parameter is gathered, so that
  /// all that follows from it needs none either.
  void demand(Operation *user) {
    if (parted_.isPartialSum(user))
      return;
    for (Value value : user->getOperands()) {
      Operation *maker = value.getDefiningOp();
      if (!maker || parted_.isUpdate(value) ||
          !users_.try_emplace(maker, user).second)
        continue;
      if (isPure(maker))
        open_.push_back(maker);
    }
  }

  const Parted &parted_;
  DenseMap<Operation *, Operation *> users_; // one each
  SmallVector<Operation *> open_;
};

/// Whether each rank may have a part of a state: it is an optimizer's, and its
/// elements begin alike.
bool mayBeParted(StateOp state, const PartSizes &sizes) {
  auto type = cast<RankedTensorType>(state.getType());
  if (state.getRole() != Role::slot || state.getDiffersAlong() ||
      !isa<FloatType>(type.getElementType()) ||
      type.getNumElements() * elementBytes(type) <= kPartBytes ||
      sizes.partOf(type).getNumElements() >= type.getNumElements())
    return false;
  auto init = state.getInit();
  return init && (init->getRule() == Initializer::zeros ||
                  init->getRule() == Initializer::constant);
}

//===-- parts -------------------------------------------------------------===//

/// Computes updates of a graph on parts.
class Sharing {
public:
  Sharing(ProgramOp program, GraphOp graph, const Shares &shares)
      : program_(program), graph_(graph), sizes_(shares.sizes),
        parted_(graph, shares), shares_(shares) {}

  /// The number of parameters whose update is shared out.
  FailureOr<int> run() {
    Block &block = graph_.getBody().front();
    int updates = 0;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (parted_.isPartialSum(&op)) {
        sumParts(cast<ReduceOp>(op));
        continue;
      }
      auto write = dyn_cast<WriteOp>(op);
      if (!write)
        continue;
      if (parted_.isOfSlot(write))
        write.getValueMutable().assign(partOf(write.getValue()));
      else if (parted_.isUpdate(write.getValue()))
        ++updates, gather(write);
    }
    if (!hasRank_)
      return failure();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    return updates;
  }

private:
  /// The rank's own part of a value, made behind it.
  Value partOf(Value whole) {
    if (Value known = parts_.lookup(whole))
      return known;
    OpBuilder builder(graph_.getContext());
    builder.setInsertionPointAfterValue(whole);
    Value part = makePart(builder, whole);
    parts_[whole] = part;
    return part;
  }

  Value makePart(OpBuilder &builder, Value whole) {
    Operation *op = whole.getDefiningOp();
    RankedTensorType type = sizes_.partOf(whole.getType());
    Location loc = whole.getLoc();
    if (auto read = dyn_cast<ReadOp>(op)) {
      if (shares_.slots.contains(read.getState()))
        return ReadOp::create(builder, loc, type, read.getState());
      return PartOp::create(builder, loc, type, whole, sizes_.ranks);
    }
    if (auto sum = dyn_cast<AllReduceOp>(op)) {
      sum.setPartsAttr(half(HalfOfReduce::scatter));
      Value part = PartOp::create(builder, loc, type, whole, sizes_.ranks);
      return withoutPadding(builder, part, whole.getType());
    }
    if (auto spread = dyn_cast<BroadcastOp>(op))
      return broadcastScalar(builder, loc, spread.getInput(), type.getShape());
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto splat = cast<SplatElementsAttr>(constant.getValue());
      return arith::ConstantOp::create(
          builder, loc, splat.resizeSplat(cast<ShapedType>(type)));
    }
    IRMapping parts;
    for (Value operand : op->getOperands())
      parts.map(operand, partOf(operand));
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op, parts);
    copy->getResult(0).setType(type);
    return copy->getResult(0);
  }

  PartsAttr half(HalfOfReduce which) {
    return PartsAttr::get(graph_.getContext(), which, sizes_.ranks,
                          sizes_.unit);
  }

  /// Zeros behind the end of the whole.
  Value withoutPadding(OpBuilder &builder, Value part, Type whole) {
    if (!sizes_.hasPadding(whole))
      return part;
    Location loc = part.getLoc();
    int64_t elements = tensorType(part).getNumElements();
    auto type = RankedTensorType::get({elements}, builder.getI64Type());
    Value rank = readRank(builder, loc, program_);
    if (!rank) {
      hasRank_ = false;
      return part;
    }
    Value before = arith::MulIOp::create(builder, loc, rank,
                                         splatLike(builder, rank, elements));
    Value index = arith::AddIOp::create(
        builder, loc, iota(builder, loc, type, 0),
        broadcastScalar(builder, loc, before, type.getShape()));
    Value end = splat(builder, loc, type,
                      cast<RankedTensorType>(whole).getNumElements());
    Value isInside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, index, end);
    return arith::SelectOp::create(builder, loc, isInside, part,
                                   splatLike(builder, part, 0));
  }

  /// Makes the sum of all elements that of the ranks' own ones.
  void sumParts(ReduceOp reduce) {
    Value whole = reduce.getInput();
    Value part = partOf(whole);
    OpBuilder builder(reduce);
    Location loc = reduce.getLoc();
    Arithmetic math(builder, loc);
    Value own =
        sum(builder, loc, withoutPadding(builder, part, whole.getType()), {0});
    Value total = sumOverRanks(builder, loc, own);
    if (reduce.getKind() == Reduction::mean)
      total = math.divide(
          total, math.number(tensorType(whole).getNumElements(), total));
    reduce.getResult().replaceAllUsesWith(total);
    reduce.erase();
  }

  /// Gives all ranks the parts that each has made of a new parameter. Nothing
  /// needs them before the end, so that they may travel together.
  void gather(WriteOp write) {
    Value whole = write.getValue();
    Value part = partOf(whole);
    OpBuilder builder(graph_.getContext());
    builder.setInsertionPointAfterValue(part);
    Location loc = whole.getLoc();
    Value alone =
        WholeOp::create(builder, loc, whole.getType(), part, sizes_.ranks);
    auto all = AllReduceOp::create(builder, loc, alone);
    all.setParameters(write.getState());
    all.setPartsAttr(half(HalfOfReduce::gather));
    // The gathered value takes the place of the whole one from here on.
    whole.replaceAllUsesWith(all.getResult(0));
    parts_[all.getResult(0)] = part;
    write->moveBefore(write->getBlock()->getTerminator());
  }

  ProgramOp program_;
  GraphOp graph_;
  PartSizes sizes_;
  Parted parted_;
  const Shares &shares_;
  DenseMap<Value, Value> parts_; // of whole values
  bool hasRank_ = true; // else there is an error on the state that tells it
};

struct ShardUpdatePass : impl::ShardUpdateBase<ShardUpdatePass> {
  using Base::Base;

  void runOnOperation() override {
    DistributionSettings settings = distributionOf(getOperation());
    if (settings.zero == 0 || settings.mode == DistributionMode::none)
      return;
    if (failed(check(settings)))
      return signalPassFailure();
    if (*settings.ranks > 1 && !isDone() && failed(share(*settings.ranks)))
      signalPassFailure();
  }

  LogicalResult check(const DistributionSettings &settings) {
    auto refuse = [&](const Twine &why) {
      return recipe::keyError(getOperation(), "distribution.zero") << why.str();
    };
    if (settings.logicalRanks)
      return refuse("excludes logical_ranks: a process computes several of "
                    "them, and there would be a part for each process");
    if (!settings.ranks)
      return refuse("needs distribution.ranks: the sizes of parts follow from "
                    "the number of processes");
    if (settings.reduce == ReduceType::adasum)
      return refuse(
          "excludes reduce \"adasum\": its result is known on no rank "
          "before all have combined their gradients");
    if (settings.hasOwnWeights())
      return refuse("excludes reduce \"local\" and \"partial\": there each "
                    "process updates all of its own weights");
    if (settings.isSparse())
      return refuse(
          "excludes sparse sums: each process gets all of such a sum, "
          "so there are no halves of it to update weights between");
    return success();
  }

  /// Whether ranks have parts of slots. Methods share out what is fixed.
  bool isDone() {
    return llvm::any_of(
        getOperation().getBody().getOps<StateOp>(), [](StateOp state) {
          return state->hasAttr(kPartOf) && !state->hasAttr(kFixed);
        });
  }

  LogicalResult share(int64_t ranks) {
    SmallVector<GraphOp> graphs = trainGraphs(getOperation());
    Shares shares;
    shares.sizes = {ranks, unitOf(graphs)};
    findSlots(shares, graphs);
    keepSmall(shares, graphs);
    while (settleOnce(shares, graphs))
      continue;
    SmallVector<int> updates;
    for (GraphOp graph : graphs) {
      FailureOr<int> shared = Sharing(getOperation(), graph, shares).run();
      if (failed(shared))
        return failure();
      updates.push_back(*shared);
    }
    for (auto &slot : shares.slots)
      deal(getOperation().getState(slot.getKey()), shares.sizes);
    for (auto [graph, count] : llvm::zip(graphs, updates))
      report(graph, count, shares);
    reportWhole(shares);
    return success();
  }

  /// The elements of 64 bytes of the narrowest gradient that travels.
  static int64_t unitOf(ArrayRef<GraphOp> graphs) {
    int64_t narrowest = 4;
    bool isWide = true; // f64 alone
    for (GraphOp graph : graphs)
      for (auto sum : graph.getBody().front().getOps<AllReduceOp>())
        if (!gradientOf(sum).empty()) {
          int64_t bytes = elementBytes(sum.getOperand(0).getType());
          narrowest = std::min(narrowest, bytes);
          isWide &= bytes == 8;
        }
    return kPartBytes / (isWide ? 8 : narrowest);
  }

  /// Slots that steps alone use: what an evaluation reads stays whole.
  void findSlots(Shares &shares, ArrayRef<GraphOp> graphs) {
    for (auto state : getOperation().getBody().getOps<StateOp>())
      if (mayBeParted(state, shares.sizes))
        shares.slots.insert(state.getSymName());
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      if (!llvm::is_contained(graphs, graph))
        for (Operation &op : graph.getBody().front()) {
          if (auto read = dyn_cast<ReadOp>(op))
            shares.slots.erase(read.getState());
          if (auto write = dyn_cast<WriteOp>(op))
            shares.slots.erase(write.getState());
        }
  }

  static void keepSmall(Shares &shares, ArrayRef<GraphOp> graphs) {
    for (GraphOp graph : graphs)
      for (auto sum : graph.getBody().front().getOps<AllReduceOp>())
        if (StringRef parameter = gradientOf(sum); !parameter.empty()) {
          auto type = cast<RankedTensorType>(sum.getOperand(0).getType());
          if (type.getNumElements() * elementBytes(type) <= kPartBytes ||
              shares.sizes.partOf(type).getNumElements() >=
                  type.getNumElements())
            shares.whole[parameter] = "it is small";
        }
  }

  /// Takes from the shares what one of the graphs needs whole; returns whether
  /// there was any.
  static bool settleOnce(Shares &shares, ArrayRef<GraphOp> graphs) {
    bool changes = false;
    for (GraphOp graph : graphs) {
      Parted parted(graph, shares);
      Demands demands(graph, parted);
      SmallVector<StringRef> slots;
      for (Operation &op : graph.getBody().front()) {
        if (auto read = dyn_cast<ReadOp>(op); read && demands.has(read))
          slots.push_back(read.getState());
        if (auto write = dyn_cast<WriteOp>(op);
            write && !parted.follows(write.getValue()))
          slots.push_back(write.getState());
        StringRef parameter = gradientOf(&op);
        if (parameter.empty() || !shares.isShared(parameter))
          continue;
        if (demands.has(&op)) {
          Operation *user = demands.reasonFor(&op);
          shares.whole[parameter] =
              (user->getName().getStringRef() +
               ", to which its gradient goes, is not computed in parts")
                  .str();
          changes = true;
        }
      }
      for (StringRef slot : slots)
        changes |= shares.slots.erase(slot);
    }
    return changes;
  }

  static void deal(StateOp state, const PartSizes &sizes) {
    Builder builder(state.getContext());
    state->setAttr(kPartOf, TypeAttr::get(state.getType()));
    state.setType(sizes.partOf(state.getType()));
    state.setDiffersAlongAttr(builder.getStrArrayAttr({kDataAxis}));
  }

  void report(GraphOp graph, int updates, const Shares &shares) {
    std::string words =
        ("@" + graph.getSymName() + ": each of " + Twine(shares.sizes.ranks) +
         " ranks updates a part of " + Twine(updates) +
         " parameters, and has parts of " + Twine(shares.slots.size()) +
         " slots")
            .str();
    remark::passed(graph.getLoc(),
                   remark::RemarkOpts::name("Sharded").category(getArgument()))
        << words;
  }

  /// Names the parameters that are updated whole.
  void reportWhole(const Shares &shares) {
    std::vector<std::pair<StringRef, StringRef>> whole;
    for (auto &[parameter, why] : shares.whole)
      whole.emplace_back(parameter, why);
    llvm::sort(whole);
    for (auto [parameter, why] : whole)
      remark::missed(getOperation().getLoc(),
                     remark::RemarkOpts::name("Whole").category(getArgument()))
          << (parameter + " stays whole: " + why).str();
  }
};

} // namespace
} // namespace gradus
