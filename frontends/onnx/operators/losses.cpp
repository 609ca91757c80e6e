// Loss functions that a model contains as ONNX nodes.

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/operators.h"

namespace gradus::onnx {
namespace {

using namespace mlir;
using IntegerIs = arith::CmpIPredicate;

/// Log-probabilities [N, C, ..], labels [N, ..] and the weight of each label.
struct Classification {
  Value logs, labels, counts;
};

/// 0 for an ignored label, else the weight of its class, else 1.
absl::StatusOr<Value> countsOf(const Building &b, Value logs, Value labels) {
  Type element = tensorType(logs).getElementType();
  RankedTensorType type = tensorType(labels).clone(element);
  Value counts = splat(b.builder, b.loc, type, 1), ignored;
  if (b.node.hasAttribute("ignore_index")) {
    Value index = b.number(b.node.integer("ignore_index", 0), labels);
    ignored = b.compare(IntegerIs::eq, labels, index);
  }
  if (!b.node.input(2).empty()) {
    GRADUS_ASSIGN_OR_RETURN(Value weights, b.importer.value(b.node, 2, 1));
    // An ignored label need not be a valid class.
    Value at =
        ignored ? b.select(ignored, b.number(0, labels), labels) : labels;
    counts = b.make<GatherOp>(type, weights, at, 0, 0);
  }
  return ignored ? b.select(ignored, b.number(0, counts), counts) : counts;
}

absl::Status checkLabels(const Node &node, Value logs, Value labels) {
  ArrayRef<int64_t> shape = tensorType(logs).getShape();
  if (shape.size() >= 2) {
    SmallVector<int64_t> expected(shape);
    expected.erase(expected.begin() + 1);
    if (ArrayRef<int64_t>(expected) == tensorType(labels).getShape())
      return absl::OkStatus();
  }
  return node.error("labels of shape [", joined(tensorType(labels).getShape()),
                    "] do not fit scores of shape [", joined(shape), "]");
}

/// The negative log-probability of each label times its weight.
Value lossOfEach(const Building &b, const Classification &c) {
  ArrayRef<int64_t> shape = tensorType(c.logs).getShape();
  Type labels = tensorType(c.labels).getElementType();
  Value classes =
      iota(b.builder, b.loc, RankedTensorType::get(shape, labels), 1);
  Value own = b.compare(IntegerIs::eq, classes,
                        broadcastAlong(b.builder, b.loc, c.labels, shape, {1}));
  Value picked =
      sum(b.builder, b.loc, b.select(own, c.logs, b.number(0, c.logs)), {1});
  return b.negate(b.multiply(picked, c.counts));
}

absl::Status judgeLoss(const Node &node) {
  std::string reduction = node.text("reduction", "mean");
  if (reduction == "none" || reduction == "sum" || reduction == "mean")
    return absl::OkStatus();
  return node.error("reduction is \"", reduction,
                    "\", expected \"none\", \"sum\" or \"mean\"");
}

absl::Status define(const Building &b, const Classification &c) {
  Value each = lossOfEach(b, c);
  std::string reduction = b.node.text("reduction", "mean");
  SmallVector<int64_t> axes = allAxes(tensorType(each).getRank());
  if (reduction == "none")
    return b.importer.define(b.node, 0, each);
  Value total = sum(b.builder, b.loc, each, axes);
  if (reduction == "mean")
    total = b.divide(total, sum(b.builder, b.loc, c.counts, axes));
  return b.importer.define(b.node, 0, total);
}

/// Builds a loss; `ofScores` adds a softmax first.
template <bool ofScores>
absl::Status loss(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value scores, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value labels, importer.value(node, 1));
  GRADUS_RETURN_IF_ERROR(checkLabels(node, scores, labels));
  Value logs = ofScores ? b.make<SoftmaxOp>(true, scores, 1) : scores;
  GRADUS_ASSIGN_OR_RETURN(Value counts, countsOf(b, logs, labels));
  if (ofScores)
    GRADUS_RETURN_IF_ERROR(importer.define(node, 1, logs));
  return define(b, {logs, labels, counts});
}

const Operator kOperators[] = {
    {"SoftmaxCrossEntropyLoss",
     {12, "scores, weights", "", judgeLoss},
     loss<true>},
    {"NegativeLogLikelihoodLoss",
     {12, "input, weight", "", judgeLoss},
     loss<false>},
};

} // namespace

llvm::ArrayRef<Operator> lossOperators() { return kOperators; }

} // namespace gradus::onnx
