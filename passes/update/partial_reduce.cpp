// Lets each rank update its own weights by its own gradients, and shares one
// part of them in each update, by turns: the ranks go on from its mean. With K
// parts each parameter is shared after every K updates, and a rank sends a K-th
// of what data parallel training sends. This is backward_and_partial_update of
// Apache SINGA (python/singa/opt.py, DistOpt): local SGD whose meetings are
// spread over the updates between two of them.
//
// The slots of an optimizer stay each rank's own, as in SINGA. A checkpoint has
// the states of all ranks that differ between them
// (training/rank_states.h), and tests are of their means
// (training/rank_means.h).
//
// Runs behind the optimizer, whichever it is: it sees only writes.

#include "ir/arithmetic.h"
#include "passes/distribution/own_values.h"
#include "passes/distribution/parts.h"
#include "passes/passes.h"
#include "passes/step_variants.h"
#include "passes/update/own_weights.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_PARTIALREDUCE
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// An attribute of @train whose ranks share a part already.
constexpr StringLiteral kSharesPart = "gradus.shares_part";
/// Begins the names of variants; @train shares part 1.
constexpr StringLiteral kPart = "train_part_";
constexpr int64_t kPartsByDefault = 4;

struct PartialReducePass : impl::PartialReduceBase<PartialReducePass> {
  using Base::Base;

  void runOnOperation() override {
    settings = distributionOf(getOperation());
    GraphOp train = getOperation().getGraph(kTrain);
    if (settings.mode == DistributionMode::none ||
        settings.reduce != ReduceType::partial || !train ||
        train->hasAttr(kSharesPart))
      return;
    if (failed(checkOwnWeights(train, "partial")) || failed(share(train)))
      return signalPassFailure();
    train->setAttr(kSharesPart, UnitAttr::get(&getContext()));
  }

private:
  LogicalResult share(GraphOp train) {
    size_t states =
        markOwnWrites(getOperation(), train, {Role::parameter, Role::slot})
            .size();
    if (failed(divide(train)))
      return failure();
    if (parts == 0) // No parameter is trained.
      return success();
    report(train, states);
    SmallVector<std::string> names;
    SmallVector<GraphOp> graphs = {train};
    for (int64_t part = parts; part > 1; --part)
      graphs.push_back(cloneVariant(train, kPart + Twine(part), kUpdates));
    std::reverse(graphs.begin() + 1, graphs.end());
    for (auto [part, graph] : llvm::enumerate(graphs)) {
      if (failed(sharePart(graph, part)))
        return failure();
      if (part > 0)
        names.push_back(graph.getSymName().str());
    }
    if (parts == 1)
      return success();
    return addTurns(getOperation(), names);
  }

  bool isParameter(WriteOp write) {
    return getOperation().getState(write.getState()).getRole() ==
           Role::parameter;
  }

  static int64_t bytesOf(RankedTensorType type) {
    return type.getNumElements() * type.getElementTypeBitWidth() / 8;
  }

  /// Gives each parameter its part, in the order in which the optimizer writes
  /// them, which is that of their gradients.
  LogicalResult divide(GraphOp train) {
    SmallVector<StringAttr> names;
    SmallVector<int64_t> elements, bytes;
    for (WriteOp write : ownWrites(getOperation(), train))
      if (isParameter(write)) {
        RankedTensorType type = tensorType(write.getValue());
        names.push_back(write.getStateAttr().getAttr());
        elements.push_back(type.getNumElements());
        bytes.push_back(bytesOf(type));
      }
    auto count = static_cast<int64_t>(names.size());
    if (count == 0) { // Nothing is trained, whatever the number of parts.
      parts = 0;
      return success();
    }
    if (settings.local.parts > count)
      return recipe::keyError(getOperation(), "distribution.parts")
             << "is " << *settings.local.parts << ", but " << count
             << (count == 1 ? " parameter is" : " parameters are")
             << " trained, and none is divided; take at most " << count;
    bool isSinga = !settings.local.parts && settings.cuts.elements;
    int64_t wanted =
        std::min(settings.local.parts.value_or(kPartsByDefault), count);
    std::vector<int64_t> numbers =
        isSinga ? partsByElements(elements, *settings.cuts.elements)
                : partsByBytes(bytes, wanted);
    partOf.clear();
    sent.clear();
    for (auto [name, number, size] : llvm::zip_equal(names, numbers, bytes)) {
      partOf[name] = number;
      sent.resize(std::max<size_t>(sent.size(), number + 1));
      sent[number] += size;
    }
    parts = static_cast<int64_t>(sent.size());
    if (parts > kMostParts) // by SINGA's rule
      return recipe::keyError(getOperation(), "distribution.bucket_elements")
             << "is " << *settings.cuts.elements << ", which cuts " << count
             << " parameters to " << parts << " parts, each of which is a "
             << "variant of the step; expected at most " << kMostParts
             << ": take more elements, or set parts";
    return success();
  }

  /// Lets the parameters of a part go on from their mean over ranks.
  LogicalResult sharePart(GraphOp graph, int64_t part) {
    OpBuilder builder = OpBuilder::atBlockBegin(&graph.getBody().front());
    Value ranks = readRanks(builder, graph.getLoc(), getOperation());
    if (!ranks)
      return failure();
    for (WriteOp write : ownWrites(getOperation(), graph)) {
      auto found = partOf.find(write.getStateAttr().getAttr());
      if (found == partOf.end() || found->second != part)
        continue;
      builder.setInsertionPoint(write);
      Arithmetic math(builder, write.getLoc());
      write.getValueMutable().assign(
          meanOverRanks(math, write.getValue(), ranks));
    }
    return success();
  }

  void report(GraphOp train, size_t states) {
    auto [least, most] = std::minmax_element(sent.begin(), sent.end());
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("PartialReduce").category(getArgument()))
        << ("ranks train " + Twine(states) +
            " states of their own, and share " + Twine(partOf.size()) +
            " parameters in " + Twine(parts) + " parts of " + Twine(*least) +
            " to " + Twine(*most) + " bytes, one in each update")
               .str();
  }

  DistributionSettings settings;
  // Parts of the program that is being changed.
  int64_t parts = 0;
  llvm::MapVector<StringAttr, int64_t> partOf; // by parameter
  SmallVector<int64_t> sent;                   // bytes, by part
};

} // namespace
} // namespace gradus
