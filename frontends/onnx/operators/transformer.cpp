// Softmax and the normalizations over features.

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/operators.h"

#include "frontends/onnx/file/onnx.pb.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

int64_t countOf(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

/// Softmax along one axis; before opset 13 along it and all later axes at once.
template <bool log> absl::Status softmax(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  bool flattens = node.opset() < 13;
  GRADUS_ASSIGN_OR_RETURN(int64_t axis,
                          b.axis(shape.size(), flattens ? 1 : -1));
  if (!flattens)
    return importer.define(node, 0, b.make<SoftmaxOp>(log, input, axis));
  Value rows = b.shaped(input, {countOf(shape.take_front(axis)),
                                countOf(shape.drop_front(axis))});
  Value result = b.make<SoftmaxOp>(log, rows, 1);
  return importer.define(node, 0, b.shaped(result, shape));
}

/// Broadcasts an input to a row of features.
absl::StatusOr<Value> perFeature(const Building &b, int input,
                                 ArrayRef<int64_t> row) {
  GRADUS_ASSIGN_OR_RETURN(Value value, b.importer.value(b.node, input));
  absl::StatusOr<SmallVector<int64_t>> common =
      commonShape(tensorType(value).getShape(), row);
  if (!common.ok() || ArrayRef<int64_t>(*common) != row)
    return b.node.error("its input \"", b.node.input(input).str(),
                        "\" has shape [", joined(tensorType(value).getShape()),
                        "], expected [", joined(row), "]");
  return broadcastLast(b.builder, b.loc, value, row);
}

/// Defines the optional outputs mean and 1 / standard deviation.
absl::Status defineStatistics(const Building &b, Value input, int64_t axis,
                              double epsilon) {
  if (b.node.output(1).empty() && b.node.output(2).empty())
    return absl::OkStatus();
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  SmallVector<int64_t> axes, kept(shape);
  for (int64_t d = axis; d < int64_t(shape.size()); ++d) {
    axes.push_back(d);
    kept[d] = 1;
  }
  Value average = mean(b.builder, b.loc, input, axes);
  Value centred =
      b.subtract(input, broadcastAlong(b.builder, b.loc, average, shape, axes));
  Value variance = mean(b.builder, b.loc, b.multiply(centred, centred), axes);
  Value inverse =
      b.make<math::RsqrtOp>(b.add(variance, b.number(epsilon, variance)));
  GRADUS_RETURN_IF_ERROR(b.importer.define(b.node, 1, b.shaped(average, kept)));
  return b.importer.define(b.node, 2, b.shaped(inverse, kept));
}

template <bool rms>
absl::Status normalization(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  Type element = tensorType(input).getElementType();
  GRADUS_RETURN_IF_ERROR(
      checkPrecision(node, "stash_type", element, ::onnx::TensorProto::FLOAT));
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, b.axis(shape.size(), -1));
  GRADUS_ASSIGN_OR_RETURN(Value scale,
                          perFeature(b, 1, shape.drop_front(axis)));
  Value bias;
  if (!node.input(2).empty()) {
    GRADUS_ASSIGN_OR_RETURN(bias, perFeature(b, 2, shape.drop_front(axis)));
  }
  double epsilon = node.number("epsilon", 1e-5f);
  Value result = LayerNormOp::create(b.builder, b.loc, input.getType(), rms,
                                     input, scale, bias, APFloat(epsilon));
  GRADUS_RETURN_IF_ERROR(importer.define(node, 0, result));
  return rms ? absl::OkStatus() : defineStatistics(b, input, axis, epsilon);
}

//===-- export ------------------------------------------------------------===//

absl::Status writeSoftmax(const OpWriter &w, const char *) {
  auto softmax = cast<SoftmaxOp>(w.op);
  return w.define(softmax.getLog() ? "LogSoftmax" : "Softmax", {w.input(0)},
                  {attribute("axis", int64_t(softmax.getAxis()))});
}

absl::Status writeLayerNorm(const OpWriter &w, const char *node) {
  auto norm = cast<LayerNormOp>(w.op);
  return w.define(node, w.inputs(),
                  {attribute("axis", -w.inputType(1).getRank()),
                   attribute("epsilon", norm.getEpsilon().convertToDouble())});
}

bool isRms(Operation *op) { return cast<LayerNormOp>(op).getRms(); }

absl::Status writeRmsNorm(const OpWriter &w, const char *node) {
  auto norm = cast<LayerNormOp>(w.op);
  w.graph.needOpset(23);
  Attributes all = {attribute("axis", -w.inputType(1).getRank()),
                    attribute("epsilon", norm.getEpsilon().convertToDouble())};
  if (!norm.getBias())
    return w.define(node, w.inputs(), all);
  std::string plain = w.node(node, {w.input(0), w.input(1)}, all);
  return w.define("Add", {plain, w.input(2)});
}

const Operator kOperators[] = {
    {"Softmax", {6, "input"}, ofFloats<softmax<false>>},
    {"LogSoftmax", {6, "input"}, ofFloats<softmax<true>>},
    {"LayerNormalization",
     {17, "X, Scale, B", "`stash_type` but f32 or the own type"},
     normalization<false>},
    {"RMSNormalization",
     {23, "X, scale", "`stash_type` but f32 or the own type"},
     normalization<true>},
    {"SimplifiedLayerNormalization", {6, "X, scale"}, normalization<true>},
};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"gradus.softmax", "Softmax", writeSoftmax},
    {"gradus.layer_norm", "RMSNormalization", writeRmsNorm, isRms},
    {"gradus.layer_norm", "LayerNormalization", writeLayerNorm},
};

} // namespace

llvm::ArrayRef<Operator> transformerOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> transformerExports() { return kExports; }

} // namespace gradus::onnx
