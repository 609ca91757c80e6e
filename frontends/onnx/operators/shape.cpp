// ONNX ops that make constants, query shapes, or rearrange elements.
//
// With static shapes all shape arithmetic is known here.

#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/operators.h"

#include "ir/build.h"
#include "ir/gather_sizes.h"

#include <cmath>

namespace gradus::onnx {
namespace {

using namespace mlir;

/// The note at a node that stands for an iota.
constexpr llvm::StringLiteral kIotaAxis = "gradus.iota";

//===-- constants ---------------------------------------------------------===//

Constant floats(ArrayRef<double> values, MLIRContext &context) {
  Constant result =
      zeros(Builder(&context).getF32Type(), {int64_t(values.size())});
  result.tensor.floats.assign(values.begin(), values.end());
  return result;
}

Constant scalar(Constant one) {
  one.tensor.shape.clear();
  return one;
}

absl::Status constant(Importer &importer, const Node &node) {
  MLIRContext &context = importer.context();
  if (const auto *tensor = node.tensor("value")) {
    absl::StatusOr<Constant> value = importer.constant(*tensor);
    if (!value.ok())
      return node.error(value.status().message());
    GRADUS_RETURN_IF_ERROR(importer.define(node, 0, std::move(*value)));
    importer.setUnsigned(node, 0, isUnsigned(tensor->data_type()));
    return absl::OkStatus();
  }
  if (node.hasAttribute("value_int"))
    return importer.define(
        node, 0, scalar(integers({node.integer("value_int", 0)}, context)));
  if (node.hasAttribute("value_ints"))
    return importer.define(node, 0,
                           integers(node.integers("value_ints"), context));
  if (node.hasAttribute("value_float"))
    return importer.define(
        node, 0, scalar(floats({node.number("value_float", 0)}, context)));
  if (node.hasAttribute("value_floats"))
    return importer.define(node, 0,
                           floats(node.numbers("value_floats"), context));
  return node.error("has neither a tensor nor numbers as its value");
}

/// Repeats one number to a shape without more memory than for one.
Value repeated(Importer &importer, const Node &node, const Constant &number,
               ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, number.element);
  auto value = toAttribute(number).getSplatValue<Attribute>();
  return arith::ConstantOp::create(importer.builder, importer.location(node),
                                   DenseElementsAttr::get(type, value));
}

absl::Status constantOfShape(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> shape,
                          importer.integers(node, 0, "shape"));
  Constant value = scalar(floats({0}, importer.context()));
  if (const auto *tensor = node.tensor("value")) {
    GRADUS_ASSIGN_OR_RETURN(value, importer.constant(*tensor));
  }
  if (value.tensor.size() != 1)
    return node.error("its value has ", value.tensor.size(),
                      " elements, expected 1");
  bool fits = !isWithin(shape, kMostFolded) ||
              importer.budget.fits(llvm::product_of(shape));
  GRADUS_RETURN_IF_ERROR(
      fits ? importer.define(node, 0, expanded(scalar(std::move(value)), shape))
           : importer.define(node, 0, repeated(importer, node, value, shape)));
  const auto *tensor = node.tensor("value");
  importer.setUnsigned(node, 0, tensor && isUnsigned(tensor->data_type()));
  return absl::OkStatus();
}

/// start, start + step, ... up to but without the limit; the step may be
/// negative.
absl::StatusOr<Constant> foldFloatRange(const Node &node, Constants inputs) {
  double start = inputs[0]->tensor.floats[0],
         limit = inputs[1]->tensor.floats[0],
         step = inputs[2]->tensor.floats[0];
  double count = std::max(0.0, std::ceil((limit - start) / step));
  if (!(count < 1e18))
    return node.error("from ", start, " to ", limit, " by ", step,
                      " has no end");
  Constant result = zeros(inputs[0]->element, {int64_t(count)});
  if (inputs[0]->element.getIntOrFloatBitWidth() > 16)
    node.ignore("stash_type"); // It is the type that f16 and bf16 go through.
  for (size_t i = 0; i < result.tensor.floats.size(); ++i)
    result.tensor.floats[i] = start + double(i) * step;
  return result;
}

absl::StatusOr<Constant> foldRange(const Node &node, Constants inputs) {
  for (const Constant *input : inputs)
    if (inputs.size() != 3 || input->tensor.size() != 1 ||
        input->element != inputs[0]->element)
      return node.error("expected three numbers of one type");
  if (inputs[0]->tensor.isFloat)
    return foldFloatRange(node, inputs);
  int64_t start = inputs[0]->tensor.integers[0],
          limit = inputs[1]->tensor.integers[0],
          step = inputs[2]->tensor.integers[0];
  if (step == 0)
    return node.error("its step is 0");
  node.ignore("stash_type"); // It is the type that f16 and bf16 go through.
  double count =
      std::max(0.0, std::ceil((double(limit) - double(start)) / double(step)));
  Constant result =
      zeros(inputs[0]->element, {count < 1e18 ? int64_t(count) : INT64_MAX});
  for (size_t i = 0; i < result.tensor.integers.size(); ++i)
    result.tensor.integers[i] = start + int64_t(i) * step;
  return result;
}

/// The indices of nonzero elements, in row-major order: a row for each axis, a
/// column for each element.
absl::StatusOr<Constant> foldNonZero(const Node &, Constants inputs) {
  const HostTensor &tensor = inputs[0]->tensor;
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < tensor.size(); ++i)
    if (tensor.isFloat ? tensor.floats[i] != 0 : tensor.integers[i] != 0)
      places.push_back(i);
  int64_t rank = tensor.shape.size(), count = places.size();
  Constant result = zeros(IntegerType::get(inputs[0]->element.getContext(), 64),
                          {rank, count});
  for (auto [column, place] : llvm::enumerate(places))
    for (int64_t axis = rank; axis-- > 0; place /= tensor.shape[axis])
      result.tensor.integers[axis * count + column] =
          place % tensor.shape[axis];
  return result;
}

//===-- shape queries -----------------------------------------------------===//

absl::Status shape(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, importer.type(node, 0));
  int64_t rank = type.getRank();
  auto clamped = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + rank : position, 0,
                               rank);
  };
  int64_t start = clamped(node.integer("start", 0)),
          end = clamped(node.integer("end", rank));
  ArrayRef<int64_t> extents =
      type.getShape().slice(start, std::max<int64_t>(0, end - start));
  return importer.define(node, 0, integers(extents, importer.context()));
}

absl::Status size(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, importer.type(node, 0));
  return importer.define(
      node, 0, scalar(integers({type.getNumElements()}, importer.context())));
}

//===-- reshapes ----------------------------------------------------------===//

/// Computes the new shape from the old one and the numbers of the second input,
/// if there is one.
using ShapeRule = absl::StatusOr<SmallVector<int64_t>> (*)(
    const Node &, ArrayRef<int64_t>, std::optional<ArrayRef<int64_t>>);

template <ShapeRule rule>
absl::Status rearrange(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  SmallVector<int64_t> numbers;
  std::optional<ArrayRef<int64_t>> argument;
  if (!node.input(1).empty()) {
    GRADUS_ASSIGN_OR_RETURN(numbers,
                            importer.integers(node, 1, "shape or axes"));
    argument = numbers;
  }
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> shape,
                          rule(node, tensorType(input).getShape(), argument));
  return importer.define(
      node, 0,
      reshape(importer.builder, importer.location(node), input, shape));
}

template <ShapeRule rule>
absl::StatusOr<Constant> foldRearrange(const Node &node, Constants inputs) {
  std::optional<ArrayRef<int64_t>> argument;
  if (inputs.size() > 1 && inputs[1])
    argument = inputs[1]->tensor.integers;
  Constant result = *inputs[0];
  GRADUS_ASSIGN_OR_RETURN(result.tensor.shape,
                          rule(node, inputs[0]->tensor.shape, argument));
  return result;
}

int64_t countOf(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

/// Reshape: 0 keeps a size (unless allowzero), -1 is computed from the others.
absl::StatusOr<SmallVector<int64_t>>
reshapeRule(const Node &node, ArrayRef<int64_t> from,
            std::optional<ArrayRef<int64_t>> argument) {
  SmallVector<int64_t> to =
      argument ? SmallVector<int64_t>(*argument) : node.integers("shape");
  auto misfit = [&] {
    return node.error("cannot make shape [", joined(to), "] of shape [",
                      joined(from), "]");
  };
  bool keepsSizes = !node.integer("allowzero", 0);
  int64_t known = 1, open = -1;
  for (auto [i, extent] : llvm::enumerate(to)) {
    if (extent == 0 && keepsSizes && i < from.size())
      extent = from[i];
    if (extent == -1 && open >= 0)
      return misfit();
    if (extent == -1)
      open = i;
    else if (extent < 0 || __builtin_mul_overflow(known, extent, &known))
      return misfit();
  }
  if (open >= 0 && known > 0 && countOf(from) % known == 0)
    to[open] = countOf(from) / known;
  if (llvm::is_contained(to, -1) || countOf(to) != countOf(from))
    return misfit();
  return to;
}

absl::StatusOr<SmallVector<int64_t>>
flattenRule(const Node &node, ArrayRef<int64_t> from,
            std::optional<ArrayRef<int64_t>>) {
  int64_t rank = from.size(), axis = node.integer("axis", 1);
  if (axis < -rank || axis > rank)
    return node.error("axis ", axis, " is out of range for rank ", rank);
  size_t split = axis < 0 ? axis + rank : axis;
  return SmallVector<int64_t>{countOf(from.take_front(split)),
                              countOf(from.drop_front(split))};
}

absl::StatusOr<SmallVector<int64_t>>
squeezeRule(const Node &node, ArrayRef<int64_t> from,
            std::optional<ArrayRef<int64_t>> argument) {
  SmallVector<int64_t> given =
      argument ? SmallVector<int64_t>(*argument) : node.integers("axes");
  absl::StatusOr<SmallVector<int64_t>> axes = normalAxes(given, from.size());
  if (!axes.ok())
    return node.error(axes.status().message());
  SmallVector<int64_t> to;
  for (auto [axis, extent] : llvm::enumerate(from)) {
    bool named = llvm::is_contained(*axes, int64_t(axis));
    if (named && extent != 1)
      return node.error("axis ", axis, " has size ", extent, ", expected 1");
    if (!named && (extent != 1 || !given.empty()))
      to.push_back(extent);
  }
  return to;
}

absl::StatusOr<SmallVector<int64_t>>
unsqueezeRule(const Node &node, ArrayRef<int64_t> from,
              std::optional<ArrayRef<int64_t>> argument) {
  SmallVector<int64_t> given =
      argument ? SmallVector<int64_t>(*argument) : node.integers("axes");
  absl::StatusOr<SmallVector<int64_t>> axes =
      normalAxes(given, from.size() + given.size());
  if (!axes.ok())
    return node.error(axes.status().message());
  SmallVector<int64_t> to(from);
  for (int64_t axis : *axes)
    to.insert(to.begin() + axis, 1);
  return to;
}

//===-- transposes --------------------------------------------------------===//

absl::StatusOr<SmallVector<int64_t>> permutationOf(const Node &node,
                                                   int64_t rank) {
  SmallVector<int64_t> reversed;
  for (int64_t axis = rank - 1; axis >= 0; --axis)
    reversed.push_back(axis);
  SmallVector<int64_t> given = node.integers("perm", reversed), permutation;
  for (int64_t axis : given) // Some exporters count from the end.
    permutation.push_back(axis < 0 ? axis + rank : axis);
  SmallVector<int64_t> sorted = permutation;
  llvm::sort(sorted);
  if (sorted != llvm::to_vector(llvm::seq<int64_t>(0, rank)))
    return node.error("perm is [", joined(given), "], no order of ", rank,
                      " axes");
  return permutation;
}

/// A gather between two transposes of which the first moves the gathered axis
/// behind the batch dimensions and the second moves the result back: a gather
/// along the axis where it stands. Null for other transposes.
Value gatheredBetween(const Building &b, Value input,
                      ArrayRef<int64_t> permutation) {
  auto gather = input.getDefiningOp<GatherOp>();
  auto first =
      gather ? gather.getInput().getDefiningOp<TransposeOp>() : nullptr;
  if (!first || !gather.getBatchDims() ||
      gather.getAxis() != gather.getBatchDims())
    return {};
  int64_t batch = gather.getBatchDims(), axis = first.getPermutation()[batch],
          rank = tensorType(first).getRank(),
          count = tensorType(gather.getIndices()).getRank() - batch;
  SmallVector<int64_t> shape =
      gatheredShape(tensorType(first.getInput()).getShape(),
                    tensorType(gather.getIndices()).getShape(), axis, batch);
  bool isMoved =
      axis > batch &&
      first.getPermutation() == ArrayRef(axesMoved(rank, axis, batch, 1)) &&
      permutation == ArrayRef(axesMoved(shape.size(), batch, axis, count));
  return isMoved ? b.make<GatherOp>(tensorType(input).clone(shape),
                                    first.getInput(), gather.getIndices(), axis,
                                    batch)
                 : Value();
}

absl::Status transposed(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> permutation,
                          permutationOf(node, tensorType(input).getRank()));
  if (Value gathered =
          gatheredBetween(Building(importer, node), input, permutation))
    return importer.define(node, 0, gathered);
  return importer.define(
      node, 0,
      transpose(importer.builder, importer.location(node), input, permutation));
}

absl::StatusOr<Constant> foldTranspose(const Node &node, Constants inputs) {
  ArrayRef<int64_t> from = inputs[0]->tensor.shape;
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> permutation,
                          permutationOf(node, from.size()));
  SmallVector<int64_t> to, source(from.size());
  for (int64_t axis : permutation)
    to.push_back(from[axis]);
  return gathered(*inputs[0], to, [&](ArrayRef<int64_t> index) {
    for (auto [position, axis] : llvm::enumerate(permutation))
      source[axis] = index[position];
    return positionOf(source, from);
  });
}

absl::StatusOr<SmallVector<int64_t>>
expandedShape(const Node &node, ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  absl::StatusOr<SmallVector<int64_t>> shape = commonShape(from, to);
  return shape.ok() ? shape : node.error(shape.status().message());
}

/// The axis of an iota that our own export wrote: its numbers count along the
/// axis that the note names. Nothing at other nodes.
std::optional<int64_t> iotaAxis(const Importer &importer, const Node &node) {
  int64_t axis = 0;
  if (node.metadata(kIotaAxis).getAsInteger(10, axis))
    return std::nullopt;
  const Constant *numbers = importer.constant(node, 0),
                 *wanted = importer.constant(node, 1);
  if (!numbers || !wanted || numbers->tensor.isFloat || wanted->tensor.isFloat)
    return std::nullopt;
  ArrayRef<int64_t> from = numbers->tensor.shape;
  auto shape = commonShape(from, wanted->tensor.integers);
  int64_t rank = shape.ok() ? shape->size() : 0,
          within = axis - (rank - int64_t(from.size()));
  if (within < 0 || axis >= rank || (*shape)[axis] != from[within])
    return std::nullopt;
  bool counts = llvm::equal(numbers->tensor.integers,
                            llvm::seq<int64_t>(0, from[within]));
  return counts ? std::optional(axis) : std::nullopt;
}

bool isIota(const Importer &importer, const Node &node) {
  return iotaAxis(importer, node).has_value();
}

absl::Status expand(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> wanted,
                          importer.integers(node, 1, "shape"));
  GRADUS_ASSIGN_OR_RETURN(
      SmallVector<int64_t> shape,
      expandedShape(node, tensorType(input).getShape(), wanted));
  RankedTensorType type = tensorType(input).clone(shape);
  if (std::optional<int64_t> axis = iotaAxis(importer, node))
    return importer.define(
        node, 0, iota(importer.builder, importer.location(node), type, *axis));
  return importer.define(
      node, 0,
      broadcastLast(importer.builder, importer.location(node), input, shape));
}

absl::StatusOr<Constant> foldExpand(const Node &node, Constants inputs) {
  if (inputs.size() != 2 || inputs[1]->tensor.isFloat)
    return node.error("expected a tensor and a shape");
  GRADUS_ASSIGN_OR_RETURN(
      SmallVector<int64_t> shape,
      expandedShape(node, inputs[0]->tensor.shape, inputs[1]->tensor.integers));
  return expanded(*inputs[0], shape);
}

//===-- export ------------------------------------------------------------===//

/// A reshape that changes the sign of integers keeps their bits.
absl::Status writeReshape(const OpWriter &w, const char *) {
  auto isUnsigned = [](RankedTensorType type) {
    return type.getElementType().isUnsignedInteger();
  };
  bool from = isUnsigned(w.inputType(0)), to = isUnsigned(w.type());
  ArrayRef<int64_t> before = w.inputType(0).getShape(),
                    after = w.type().getShape();
  Value input = w.op->getOperand(0);
  std::string name = to && !from ? w.graph.unsignedNameOf(input) : w.input(0);
  if (before != after || from == to) {
    std::string shape = w.graph.integers(after);
    Attributes attributes = OpWriter::reshapeAttributes(after);
    return from && !to ? w.defineUnsigned("Reshape", {name, shape}, attributes)
                       : w.define("Reshape", {name, shape}, attributes);
  }
  if (to)
    return w.alias(name);
  return w.graph.setUnsignedName(w.op->getResult(0), name), absl::OkStatus();
}

absl::Status writeTranspose(const OpWriter &w, const char *node) {
  return w.define(
      node, {w.input(0)},
      {attribute("perm", cast<TransposeOp>(w.op).getPermutation())});
}

/// ONNX aligns shapes at their last dimension.
absl::Status writeBroadcast(const OpWriter &w, const char *node) {
  ArrayRef<int64_t> before = w.inputType(0).getShape();
  SmallVector<int64_t> aligned(w.type().getRank(), 1);
  ArrayRef<int64_t> dimensions = cast<BroadcastOp>(w.op).getDimensions();
  for (auto [axis, size] : llvm::zip(dimensions, before))
    aligned[axis] = size;
  ArrayRef<int64_t> needed = aligned;
  if (dimensions.empty())
    needed = {};
  else
    needed = needed.drop_front(dimensions.front());
  return w.define(node, {w.shaped(w.input(0), before, needed),
                         w.graph.integers(w.type().getShape())});
}

/// The numbers are stored; the mark keeps the import from storing all of them.
absl::Status writeIota(const OpWriter &w, const char *node) {
  RankedTensorType type = w.type();
  int64_t axis = cast<IotaOp>(w.op).getAxis();
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[axis] = type.getDimSize(axis);
  auto element = cast<IntegerType>(type.getElementType());
  SmallVector<APInt> numbers;
  for (int64_t i = 0; i < shape[axis]; ++i)
    numbers.push_back(APInt(64, i).zextOrTrunc(element.getWidth()));
  std::string name = w.graph.constant(
      DenseElementsAttr::get(RankedTensorType::get(shape, element), numbers));
  GRADUS_RETURN_IF_ERROR(
      w.define(node, {name, w.graph.integers(type.getShape())}));
  return w.graph.mark(kIotaAxis, std::to_string(axis)), absl::OkStatus();
}

const Operator kOperators[] = {
    {"Constant",
     {6, "", "`sparse_value`, `value_string`, `value_strings`"},
     constant},
    {"ConstantOfShape", {9, "", "computed `shape`"}, constantOfShape},
    {"Range",
     {11, "", "`stash_type` but f32 for f16 and bf16"},
     nullptr,
     foldRange},
    {"NonZero",
     {9, "", "computed `X`", nullptr,
      ". Its size hangs on the data, as of x[mask] and torch.nonzero: keep all "
      "elements and choose with torch.where(mask, x, 0), or let every expert "
      "of a mixture compute all tokens and weight what they give"},
     nullptr,
     foldNonZero},
    {"Shape", {6}, shape},
    {"Size", {6}, size},
    {"Reshape",
     {6, "data", "computed `shape`"},
     rearrange<reshapeRule>,
     foldRearrange<reshapeRule>},
    {"Flatten",
     {6, "input"},
     rearrange<flattenRule>,
     foldRearrange<flattenRule>},
    {"Squeeze",
     {6, "data", "computed `axes`"},
     rearrange<squeezeRule>,
     foldRearrange<squeezeRule>},
    {"Unsqueeze",
     {6, "data", "computed `axes`"},
     rearrange<unsqueezeRule>,
     foldRearrange<unsqueezeRule>},
    {"Transpose", {6, "data"}, transposed, foldTranspose},
    {"Expand",
     {8, "input", "computed `shape`"},
     expand,
     foldExpand,
     /*foldsByEvaluation=*/true,
     /*firstTypeInput=*/std::numeric_limits<int>::max(),
     isIota},
};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"gradus.reshape", "Reshape", writeReshape},
    {"gradus.transpose", "Transpose", writeTranspose},
    {"gradus.broadcast", "Expand", writeBroadcast},
    {"gradus.iota", "Expand", writeIota},
};

} // namespace

llvm::ArrayRef<Operator> shapeOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> shapeExports() { return kExports; }

} // namespace gradus::onnx
