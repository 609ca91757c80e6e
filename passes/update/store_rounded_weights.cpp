// Stores the 16-bit copies of weights that a step computes with as states,
// which the optimizer writes together with the weights, so that no step rounds
// them again.
//
// Runs when all writes of weights exist, including guards: a copy is the
// rounding of the written value, so it is right even if a step is skipped. The
// runtime refreshes copies by @round_weights after weights were set from
// outside.

#include "ir/build.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace gradus {
#define GEN_PASS_DEF_STOREROUNDEDWEIGHTS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// As the runtime knows it: runtime/session/session.cpp.
constexpr StringLiteral kRefresh(well_known::kRoundWeights);

/// An attribute of states that are a parameter rounded to 16 bits; the writer
/// of the artifact (codegen/artifact/artifact_writer.cpp) asks for it.
constexpr StringLiteral kCopy = "copy";

/// The read whose elements a value consists of, in any order.
ReadOp readBehind(Value value) {
  Operation *definingOp = value.getDefiningOp();
  while (definingOp && movesOneOperand(definingOp))
    definingOp = definingOp->getOperand(0).getDefiningOp();
  return dyn_cast_or_null<ReadOp>(definingOp);
}

struct StoreRoundedWeightsPass
    : impl::StoreRoundedWeightsBase<StoreRoundedWeightsPass> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp train = getOperation().getGraph(well_known::kTrain);
    if (!train)
      return;
    copies.clear();
    states.emplace(getOperation());
    for (auto round : train.getBody().front().getOps<arith::TruncFOp>())
      if (failed(collect(round)))
        return signalPassFailure();
    if (copies.empty())
      return;
    if (GraphOp taken = getOperation().getGraph(kRefresh)) {
      taken.emitError() << "the name of this graph is that of the one which "
                           "makes 16-bit copies of weights; rename it";
      return signalPassFailure();
    }
    for (auto graph : getOperation().getBody().getOps<GraphOp>()) {
      readCopies(graph);
      writeCopies(graph);
    }
    addRefresh(train);
    report(train);
  }

  /// Adds a copy for `round` if it rounds a weight.
  LogicalResult collect(arith::TruncFOp round) {
    ReadOp read = readBehind(round.getIn());
    if (!read || !copyOf(read.getState()).empty())
      return success();
    StateOp state = states->find(read.getState());
    RankedTensorType type = tensorType(read.getResult());
    if (state.getRole() != Role::parameter || !type.getElementType().isF32())
      return success();
    Type element = tensorType(round.getResult()).getElementType();
    std::string name =
        ((element.isBF16() ? "bf16/copy/" : "f16/copy/") + read.getState())
            .str();
    if (failed(states->ensure(name, type.clone(element), Role::slot)))
      return failure();
    StateOp copy = states->find(name);
    copy->setAttr(kCopy, UnitAttr::get(&getContext()));
    copy.setDiffersAlongAttr(state.getDiffersAlongAttr());
    copies[state.getSymNameAttr()] = name;
    return success();
  }

  StringRef copyOf(StringRef weight) {
    auto found = copies.find(StringAttr::get(&getContext(), weight));
    return found == copies.end() ? StringRef() : StringRef(found->second);
  }

  RankedTensorType typeOf(StringRef state) {
    return cast<RankedTensorType>(states->find(state).getType());
  }

  void readCopies(GraphOp graph) {
    for (auto round : llvm::make_early_inc_range(
             graph.getBody().front().getOps<arith::TruncFOp>())) {
      ReadOp read = readBehind(round.getIn());
      StringRef copy = read ? copyOf(read.getState()) : "";
      if (copy.empty() || tensorType(round.getResult()).getElementType() !=
                              typeOf(copy).getElementType())
        continue;
      OpBuilder builder(round);
      round.getResult().replaceAllUsesWith(
          narrow(builder, round.getIn(), copy));
      round.erase();
    }
  }

  /// Rebuilds `value`, a moved weight, from the weight's copy.
  Value narrow(OpBuilder &builder, Value value, StringRef copy) {
    Operation *definingOp = value.getDefiningOp();
    auto type = tensorType(value).clone(typeOf(copy).getElementType());
    if (isa<ReadOp>(definingOp))
      return readState(builder, definingOp->getLoc(), copy, type);
    Value input = narrow(builder, definingOp->getOperand(0), copy);
    Operation *move = builder.clone(*definingOp);
    move->setOperand(0, input);
    move->getResult(0).setType(type);
    return move->getResult(0);
  }

  void writeCopies(GraphOp graph) {
    for (WriteOp write :
         llvm::to_vector(graph.getBody().front().getOps<WriteOp>()))
      if (StringRef copy = copyOf(write.getState()); !copy.empty()) {
        OpBuilder builder(graph.getContext());
        builder.setInsertionPointAfter(write);
        writeRounded(builder, write.getLoc(), copy, write.getValue());
      }
  }

  void writeRounded(OpBuilder &builder, Location loc, StringRef copy,
                    Value weight) {
    writeState(builder, loc, copy,
               arith::TruncFOp::create(builder, loc, typeOf(copy), weight));
  }

  /// Adds a graph that computes all copies from their weights.
  void addRefresh(GraphOp train) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(train->getBlock());
    Location loc = train.getLoc();
    auto graph =
        GraphOp::create(builder, loc, kRefresh, builder.getFunctionType({}, {}),
                        builder.getArrayAttr({}), builder.getArrayAttr({}),
                        nullptr, nullptr, nullptr);
    builder.setInsertionPointToStart(&graph.getBody().emplaceBlock());
    for (const auto &[weight, copy] : copies) {
      Value value = readState(builder, loc, weight, typeOf(weight));
      writeRounded(builder, loc, copy, value);
    }
    ReturnOp::create(builder, loc, ValueRange());
  }

  void report(GraphOp train) {
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("StoredRounded").category(getArgument()))
        << "the optimizer writes 16-bit copies of "
        << std::to_string(copies.size()) << " weights";
  }

  std::optional<States> states;
  llvm::MapVector<StringAttr, std::string> copies; // by names of weights
};

} // namespace
} // namespace gradus
