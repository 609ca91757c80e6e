// Random numbers of a rank's samples; see sample_draws.h.

#include "passes/distribution/sample_draws.h"

#include "ir/arithmetic.h"
#include "ir/attention_sizes.h"
#include "ir/traits.h"
#include "passes/distribution.h"

#include <numeric>

using namespace mlir;
using namespace gradus;

namespace {

/// Tells what the draws of one graph are for.
class Draws {
public:
  explicit Draws(GraphOp graph) {
    for (BlockArgument input : graph.getBody().getArguments()) {
      RankedTensorType type = tensorType(input);
      if (type.getRank() > 0)
        batch_ = std::gcd(batch_, type.getDimSize(0));
      ofInputs_.insert(input);
    }
    for (Operation &op : graph.getBody().front())
      if (llvm::any_of(op.getOperands(), [&](Value operand) {
            return ofInputs_.contains(operand);
          }))
        ofInputs_.insert_range(op.getResults());
  }

  /// Whether the first axis of what an op draws can count samples, and no
  /// weight is what the numbers are for.
  bool areForSamples(RandomBitsOp op) const {
    ArrayRef<int64_t> shape = op.getType().getShape();
    if (shape.empty() || (batch_ > 0 && shape[0] % batch_ != 0))
      return false;
    return !meetWeights(op.getResult());
  }

private:
  /// Whether the numbers, element by element, meet a weight as it is stored,
  /// and nothing that depends on an input.
  bool meetWeights(Value drawn) const {
    bool met = false;
    SmallVector<Value> open = {drawn};
    llvm::DenseSet<Value> seen = {drawn};
    while (!open.empty())
      for (Operation *user : open.pop_back_val().getUsers()) {
        if (!isElementByElement(user))
          continue;
        bool meets = false;
        for (Value operand : user->getOperands()) {
          if (ofInputs_.contains(operand))
            return false;
          meets |= !seen.contains(operand) && isWeight(operand);
        }
        met |= meets;
        for (Value result : user->getResults())
          if (!meets && seen.insert(result).second)
            open.push_back(result);
      }
    return met;
  }

  /// Whether a value is made of states element by element.
  static bool isWeight(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || isa<ReadOp>(op))
      return isa_and_nonnull<ReadOp>(op);
    return isElementByElement(op) && llvm::any_of(op->getOperands(), isWeight);
  }

  static bool isElementByElement(Operation *op) {
    return OpTrait::hasElementwiseMappableTraits(op) || isa<Elementwise>(op) ||
           op->hasTrait<KeepsAllElements>();
  }

  int64_t batch_ = 0; // divides the first axis of each input; 0: none has one
  llvm::DenseSet<Value> ofInputs_;
};

/// Counts the places of what an op draws on from those of the ranks before,
/// each of which draws as many.
template <typename Op>
LogicalResult countByRank(ProgramOp program, Op op, int64_t places) {
  if (!op.getStep() || op.getFirst())
    return success();
  OpBuilder builder(op);
  Value rank = readRank(builder, op.getLoc(), program);
  if (!rank)
    return failure();
  op.getFirstMutable().assign(
      Arithmetic(builder, op.getLoc()).scale(places, rank));
  return success();
}

template <typename Op> int64_t scoresOf(Op op) {
  return llvm::product_of(
      AttentionSizes(op.getQuery(), op.getValue()).scores());
}

} // namespace

LogicalResult gradus::countDrawsByRank(ProgramOp program, GraphOp graph) {
  Draws draws(graph);
  for (Operation &op : graph.getBody().front()) {
    auto done = success();
    if (auto bits = dyn_cast<RandomBitsOp>(op)) {
      if (draws.areForSamples(bits))
        done = countByRank(program, bits, bits.getType().getNumElements());
    } else if (auto attention = dyn_cast<AttentionOp>(op)) {
      done = countByRank(program, attention, scoresOf(attention));
    } else if (auto attention = dyn_cast<AttentionBackwardOp>(op)) {
      done = countByRank(program, attention, scoresOf(attention));
    }
    if (failed(done))
      return failure();
  }
  return success();
}
