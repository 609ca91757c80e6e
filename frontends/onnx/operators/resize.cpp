// Resize and Upsample, one axis after the other: a gather if each output is one
// input, else a matmul with the axis' weights.

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/operators.h"
#include "frontends/onnx/operators/resampling.h"

#include <cmath>

namespace gradus::onnx {
namespace {

using namespace mlir;

/// Sizes and scales of the axes that change.
struct Plan {
  SmallVector<int64_t> axes;
  SmallVector<Resized> sizes;
};

/// Reads a constant input; nothing if it is left out or empty.
absl::StatusOr<std::vector<double>> known(Importer &importer, const Node &node,
                                          int input, const char *what) {
  if (node.input(input).empty())
    return std::vector<double>();
  GRADUS_ASSIGN_OR_RETURN(std::optional<Constant> constant,
                          importer.stored(node, input));
  if (!constant)
    return node.error("its ", what, " \"", node.input(input).str(),
                      "\" depend on the model's inputs; only what is known "
                      "beforehand is supported");
  const HostTensor &tensor = constant->tensor;
  return tensor.isFloat
             ? std::vector<double>(tensor.floats.begin(), tensor.floats.end())
             : std::vector<double>(tensor.integers.begin(),
                                   tensor.integers.end());
}

/// Gives all axes one scale if sizes keep the aspect ratio.
void keepAspect(const std::string &policy, Plan &plan) {
  if (policy == "stretch" || plan.sizes.empty())
    return;
  double scale = plan.sizes[0].scale;
  for (const Resized &axis : plan.sizes)
    scale = policy == "not_larger" ? std::min(scale, axis.scale)
                                   : std::max(scale, axis.scale);
  for (Resized &axis : plan.sizes)
    axis.scale = scale;
}

/// The number of elements along an axis. Scales and their product with the size
/// are f32: 10 * 0.7 gives 7, and a little less in f64.
double resized(const Resized &axis, bool bySizes) {
  return bySizes ? std::floor(axis.in * axis.scale + 0.5)
                 : std::floor(float(axis.in) * float(axis.scale));
}

absl::Status setSizes(const Node &node, const std::vector<double> &scales,
                      const std::vector<double> &sizes, Plan &plan) {
  const std::vector<double> &given = sizes.empty() ? scales : sizes;
  std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (given.size() != plan.axes.size())
    return node.error("has ", given.size(), " scales or sizes for ",
                      plan.axes.size(), " axes");
  for (size_t i = 0; i < given.size(); ++i)
    plan.sizes[i].scale =
        sizes.empty() ? given[i] : given[i] / plan.sizes[i].in;
  if (!sizes.empty())
    keepAspect(policy, plan);
  for (size_t i = 0; i < given.size(); ++i) {
    Resized &axis = plan.sizes[i];
    double out = resized(axis, !sizes.empty());
    if (!(axis.scale > 0 && out >= 1 && out <= INT32_MAX)) // nor NaN
      return node.error("would make ", out, " of ", axis.in,
                        " elements along axis ", plan.axes[i]);
    axis.out = int64_t(out);
  }
  return absl::OkStatus();
}

void setRegion(const std::vector<double> &roi, Plan &plan) {
  size_t count = plan.sizes.size();
  for (size_t i = 0; i < count && roi.size() == 2 * count; ++i) {
    plan.sizes[i].roiStart = roi[i];
    plan.sizes[i].roiEnd = roi[count + i];
  }
}

absl::StatusOr<Plan> planOf(Importer &importer, const Node &node,
                            ArrayRef<int64_t> shape) {
  Plan plan;
  for (int64_t given : node.integers("axes", allAxes(shape.size()))) {
    absl::StatusOr<int64_t> axis = normalAxis(given, shape.size());
    if (!axis.ok() || llvm::is_contained(plan.axes, *axis))
      return node.error("axes are [", joined(node.integers("axes")),
                        "], expected different ones of rank ", shape.size());
    plan.axes.push_back(*axis);
    plan.sizes.push_back({.in = shape[*axis], .out = shape[*axis]});
  }
  bool old = node.type() == "Upsample" || node.opset() < 11;
  GRADUS_ASSIGN_OR_RETURN(std::vector<double> scales,
                          known(importer, node, old ? 1 : 2, "scales"));
  if (node.opset() < 9 && node.type() == "Upsample")
    for (double scale : node.numbers("scales"))
      scales.push_back(scale);
  std::vector<double> roi, sizes;
  if (!old) {
    GRADUS_ASSIGN_OR_RETURN(roi, known(importer, node, 1, "region"));
    GRADUS_ASSIGN_OR_RETURN(sizes, known(importer, node, 3, "sizes"));
  }
  GRADUS_RETURN_IF_ERROR(setSizes(node, scales, sizes, plan));
  setRegion(roi, plan);
  return plan;
}

Resampling samplingOf(const Node &node) {
  Resampling how;
  how.mode = node.text("mode", "nearest");
  bool old = node.type() == "Upsample" || node.opset() < 11;
  how.coordinates = node.text("coordinate_transformation_mode",
                              old ? "asymmetric" : "half_pixel");
  how.nearest = node.text("nearest_mode", old ? "floor" : "round_prefer_floor");
  how.cubicA = node.number("cubic_coeff_a", -0.75);
  how.excludeOutside = node.integer("exclude_outside", 0);
  how.antialias = node.integer("antialias", 0);
  return how;
}

absl::Status judgeResize(const Node &node) {
  absl::Status known = checkKnown(samplingOf(node));
  return known.ok() ? known : node.error(known.message());
}

/// The input of each output if each has only one; else empty.
SmallVector<int64_t> picked(const std::vector<double> &weights,
                            const Resized &axis) {
  SmallVector<int64_t> result;
  for (int64_t x = 0; x < axis.out; ++x)
    for (int64_t i = 0; i < axis.in; ++i)
      if (weights[x * axis.in + i] == 1)
        result.push_back(i);
  return result;
}

/// Moves the axis to the end and multiplies: input [rest, in] times weights
/// [out, in] transposed.
Value multiplyAlong(const Building &b, Value input, int64_t axis,
                    const std::vector<double> &weights, int64_t out) {
  int64_t rank = tensorType(input).getRank();
  SmallVector<int64_t> order = axesExcept(rank, {axis}), back(rank);
  order.push_back(axis);
  for (int64_t i = 0; i < rank; ++i)
    back[order[i]] = i;
  Value turned = b.permuted(input, order);
  SmallVector<int64_t> shape(tensorType(turned).getShape());
  int64_t in = shape.back();
  Constant matrix = zeros(tensorType(input).getElementType(), {out, in});
  matrix.tensor.floats.assign(weights.begin(), weights.end());
  Value right =
      arith::ConstantOp::create(b.builder, b.loc, toAttribute(matrix));
  Value flat = b.shaped(turned, {tensorType(input).getNumElements() / in, in});
  Value product = matmul(b.builder, b.loc, flat, right,
                         /*transposeA=*/false, /*transposeB=*/true);
  shape.back() = out;
  return b.permuted(b.shaped(product, shape), back);
}

/// Replaces `value` at these indices of the axis by a number.
Value overwritten(const Building &b, Value value, int64_t axis,
                  const std::vector<int64_t> &places, double number) {
  ArrayRef<int64_t> shape = tensorType(value).getShape();
  Constant mask = zeros(b.builder.getI1Type(), {shape[axis]});
  for (int64_t place : places)
    mask.tensor.integers[place] = 1;
  Value row = arith::ConstantOp::create(b.builder, b.loc, toAttribute(mask));
  Value whole = broadcast(b.builder, b.loc, row, shape, {axis});
  return b.select(whole, b.number(number, value), value);
}

absl::Status resize(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value value, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Plan plan,
                          planOf(importer, node, tensorType(value).getShape()));
  Resampling how = samplingOf(node);
  double outside = node.number("extrapolation_value", 0);
  for (auto [axis, size] : llvm::zip(plan.axes, plan.sizes)) {
    if (size.in == size.out && size.scale == 1 &&
        how.coordinates != "tf_crop_and_resize")
      continue;
    auto weights = weightsOf(how, size);
    if (!weights.ok())
      return node.error(weights.status().message());
    SmallVector<int64_t> indices = picked(*weights, size);
    if (int64_t(indices.size()) == size.out)
      value = b.gatherAlong(value, axis, indices);
    else if (Building::isFloat(value))
      value = multiplyAlong(b, value, axis, *weights, size.out);
    else
      return node.error("mode \"", how.mode, "\" is not supported on integers");
    if (auto places = madeUp(how, size); !places.empty())
      value = overwritten(b, value, axis, places, outside);
  }
  return importer.define(node, 0, value);
}

const Operator kOperators[] = {
    {"Resize",
     {10, "X",
      "computed `roi`, `scales`, `sizes`; "
      "integers but in mode nearest",
      judgeResize},
     resize},
    {"Upsample",
     {6, "X", "computed `scales`; integers but in mode nearest", judgeResize},
     resize}};

} // namespace

llvm::ArrayRef<Operator> resizeOperators() { return kOperators; }

} // namespace gradus::onnx
