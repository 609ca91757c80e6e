// ONNX ops that normalize by mean and variance: of channels, of single images
// or of groups of channels.

#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/operators.h"

#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/importer/building.h"
#include "ir/arithmetic.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

/// The inputs that all these ops share.
struct Affine {
  Value input, scale, bias;
};

absl::StatusOr<Affine> readAffine(Importer &importer, const Node &node,
                                  int64_t leastRank) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value scale, importer.value(node, 1, 1));
  GRADUS_ASSIGN_OR_RETURN(Value bias, importer.value(node, 2, 1));
  RankedTensorType type = tensorType(input);
  if (type.getRank() < leastRank || !isa<FloatType>(type.getElementType()))
    return node.error("its input \"", node.input(0).str(), "\" has rank ",
                      type.getRank(), ", expected floats [N, C, ...] of rank ",
                      leastRank, " or more");
  return Affine{input, scale, bias};
}

absl::Status checkLength(const Node &node, int input, Value vector,
                         int64_t expected) {
  int64_t found = tensorType(vector).getDimSize(0);
  if (found == expected)
    return absl::OkStatus();
  return node.error("its input \"", node.input(input).str(), "\" has ", found,
                    " elements, expected ", expected);
}

//===-- batch normalization -----------------------------------------------===//

/// Inputs and attributes of BatchNormalization.
struct BatchNorm : Affine {
  Value mean, variance;
  FloatAttr epsilon, momentum;
};

absl::Status judgeBatchNorm(const Node &node) {
  if (node.opset() < 9 && node.integer("spatial", 1) == 0)
    return node.error("spatial is 0 (statistics of each position), which is "
                      "not supported");
  return absl::OkStatus();
}

absl::StatusOr<BatchNorm> readBatchNorm(Importer &importer, const Node &node) {
  BatchNorm norm;
  GRADUS_ASSIGN_OR_RETURN(static_cast<Affine &>(norm),
                          readAffine(importer, node, 2));
  GRADUS_ASSIGN_OR_RETURN(norm.mean, importer.value(node, 3, 1));
  GRADUS_ASSIGN_OR_RETURN(norm.variance, importer.value(node, 4, 1));
  int64_t channels = tensorType(norm.input).getDimSize(1);
  int input = 1;
  for (Value vector : {norm.scale, norm.bias, norm.mean, norm.variance})
    GRADUS_RETURN_IF_ERROR(checkLength(node, input++, vector, channels));
  auto number = [&](const char *key, double otherwise) {
    return importer.builder.getF64FloatAttr(node.number(key, otherwise));
  };
  norm.epsilon = number("epsilon", 1e-5);
  norm.momentum = number("momentum", 0.9);
  return norm;
}

bool isTrainingForm(const Node &node) {
  return node.opset() < 14 ? !node.output(1).empty()
                           : node.integer("training_mode", 0) != 0;
}

/// Normalizes with statistics that are states of the model. The recipe decides
/// how training treats them, whatever the form of the node.
absl::Status keptStatistics(Importer &importer, const Node &node,
                            const BatchNorm &norm) {
  for (int output = 1; output < node.outputCount(); ++output)
    importer.defineUnsupported(node, output, "statistics");
  if (!isTrainingForm(node))
    importer.trainingNotes.addBatchNorm();
  return importer.define(
      node, 0,
      BatchNormOp::create(importer.builder, importer.location(node), norm.input,
                          norm.scale, norm.bias, norm.mean, norm.variance,
                          norm.epsilon, norm.momentum));
}

/// momentum * old + (1 - momentum) * new
Value moved(OpBuilder &builder, Location location, Value old, Value batch,
            double momentum) {
  Arithmetic a(builder, location);
  return a.add(a.scale(momentum, old), a.scale(1 - momentum, batch));
}

/// Normalizes with computed statistics, exactly as the standard says.
absl::Status givenStatistics(Importer &importer, const Node &node,
                             const BatchNorm &norm) {
  OpBuilder &builder = importer.builder;
  Location location = importer.location(node);
  if (!isTrainingForm(node))
    return importer.define(node, 0,
                           BatchNormOp::create(builder, location, norm.input,
                                               norm.scale, norm.bias, norm.mean,
                                               norm.variance, norm.epsilon,
                                               FloatAttr()));
  auto training = BatchNormTrainingOp::create(
      builder, location, norm.input, norm.scale, norm.bias, norm.epsilon);
  double momentum = norm.momentum.getValueAsDouble();
  GRADUS_RETURN_IF_ERROR(importer.define(node, 0, training.getResult()));
  GRADUS_RETURN_IF_ERROR(importer.define(
      node, 1,
      moved(builder, location, norm.mean, training.getMean(), momentum)));
  return importer.define(node, 2,
                         moved(builder, location, norm.variance,
                               training.getVariance(), momentum));
}

absl::Status batchNormalization(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(BatchNorm norm, readBatchNorm(importer, node));
  bool kept =
      importer.makeBuffer(norm.mean) && importer.makeBuffer(norm.variance);
  return kept ? keptStatistics(importer, node, norm)
              : givenStatistics(importer, node, norm);
}

//===-- groups ------------------------------------------------------------===//

/// Normalizes each of `groups` groups of channels of each image by itself, as
/// channels of a batch of one.
Value normalizeGroups(Importer &importer, const Node &node, Value input,
                      int64_t groups) {
  OpBuilder &builder = importer.builder;
  Location location = importer.location(node);
  RankedTensorType type = tensorType(input);
  int64_t rows = type.getDimSize(0) * groups;
  auto vector = RankedTensorType::get({rows}, type.getElementType());
  Value folded = reshape(builder, location, input,
                         {1, rows, type.getNumElements() / rows});
  auto norm = BatchNormTrainingOp::create(
      builder, location, folded, splat(builder, location, vector, 1),
      splat(builder, location, vector, 0),
      builder.getF64FloatAttr(node.number("epsilon", 1e-5)));
  return reshape(builder, location, norm.getResult(), type.getShape());
}

/// scale * value + bias, for each channel.
Value applyAffine(Importer &importer, const Node &node, Value value,
                  Value scale, Value bias) {
  OpBuilder &builder = importer.builder;
  Location location = importer.location(node);
  auto spread = [&](Value vector) {
    return broadcast(builder, location, vector, tensorType(value).getShape(),
                     {1});
  };
  Value scaled = arith::MulFOp::create(builder, location, value, spread(scale));
  return arith::AddFOp::create(builder, location, scaled, spread(bias));
}

absl::Status instanceNormalization(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Affine affine, readAffine(importer, node, 3));
  int64_t channels = tensorType(affine.input).getDimSize(1);
  GRADUS_RETURN_IF_ERROR(checkLength(node, 1, affine.scale, channels));
  GRADUS_RETURN_IF_ERROR(checkLength(node, 2, affine.bias, channels));
  Value normal = normalizeGroups(importer, node, affine.input, channels);
  return importer.define(
      node, 0, applyAffine(importer, node, normal, affine.scale, affine.bias));
}

/// Repeats factors for all channels of a group: before opset 21 each group has
/// one.
Value perChannel(Importer &importer, const Node &node, Value vector,
                 int64_t channels) {
  int64_t groups = tensorType(vector).getDimSize(0);
  if (groups == channels)
    return vector;
  Location location = importer.location(node);
  Value repeated = broadcast(importer.builder, location, vector,
                             {groups, channels / groups}, {0});
  return reshape(importer.builder, location, repeated, {channels});
}

absl::Status groupNormalization(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Affine affine, readAffine(importer, node, 3));
  int64_t channels = tensorType(affine.input).getDimSize(1);
  Type element = tensorType(affine.input).getElementType();
  GRADUS_RETURN_IF_ERROR(
      checkPrecision(node, "stash_type", element, ::onnx::TensorProto::FLOAT));
  int64_t groups = node.integer("num_groups", 0);
  if (groups < 1 || channels % groups)
    return node.error("num_groups is ", groups, ", which does not divide ",
                      channels, " channels");
  int64_t length = node.opset() < 21 ? groups : channels;
  GRADUS_RETURN_IF_ERROR(checkLength(node, 1, affine.scale, length));
  GRADUS_RETURN_IF_ERROR(checkLength(node, 2, affine.bias, length));
  Value normal = normalizeGroups(importer, node, affine.input, groups);
  return importer.define(
      node, 0,
      applyAffine(importer, node, normal,
                  perChannel(importer, node, affine.scale, channels),
                  perChannel(importer, node, affine.bias, channels)));
}

//===-- export ------------------------------------------------------------===//

/// With running statistics it is written for training, which moves them, unless
/// the graph is for inference.
absl::Status writeBatchNorm(const OpWriter &w, const char *node) {
  auto norm = cast<BatchNormOp>(w.op);
  Attributes all = {attribute("epsilon", norm.getEpsilon().convertToDouble())};
  if (std::optional<APFloat> momentum = norm.getMomentum())
    all.push_back(attribute("momentum", momentum->convertToDouble()));
  bool trains = norm.getMomentum() && !w.graph.isForInference();
  if (trains)
    all.push_back(attribute("training_mode", int64_t(1)));
  GRADUS_RETURN_IF_ERROR(w.define(node, w.inputs(), all));
  if (trains)
    w.graph.addOutputs({w.graph.fresh(nodeName(w.op) + "/running_mean"),
                        w.graph.fresh(nodeName(w.op) + "/running_variance")});
  return absl::OkStatus();
}

/// Running statistics of which all is replaced have no part in the result.
absl::Status writeOwnStatistics(const OpWriter &w, const char *node) {
  auto norm = cast<BatchNormTrainingOp>(w.op);
  RankedTensorType type = tensorType(norm.getMean());
  auto all = [&](double number) {
    return w.graph.constant(DenseElementsAttr::get(
        type, FloatAttr::get(type.getElementType(), number)));
  };
  GRADUS_RETURN_IF_ERROR(w.define(
      node, {w.input(0), w.input(1), w.input(2), all(0), all(1)},
      {attribute("epsilon", norm.getEpsilon().convertToDouble()),
       attribute("momentum", 0.0), attribute("training_mode", int64_t(1))}));
  std::string mean = w.graph.nameFor(norm.getMean(), nodeName(w.op) + "/mean"),
              variance = w.graph.nameFor(norm.getVariance(),
                                         nodeName(w.op) + "/variance");
  w.graph.setName(norm.getMean(), mean);
  w.graph.setName(norm.getVariance(), variance);
  return w.graph.addOutputs({mean, variance}), absl::OkStatus();
}

/// The parts of an imported InstanceNormalization or GroupNormalization.
struct GroupNorm {
  Value input, scale, bias;
  BatchNormTrainingOp norm;
};

/// The vector that a value has along the channels; null if it has none.
Value perChannel(Value value) {
  auto spread = value.getDefiningOp<BroadcastOp>();
  bool isVector = spread && spread.getDimensions().size() == 1 &&
                  spread.getDimensions()[0] == 1 &&
                  tensorType(spread.getInput()).getDimSize(0) ==
                      tensorType(value).getDimSize(1);
  return isVector ? spread.getInput() : Value();
}

std::optional<GroupNorm> groupNormOf(Operation *op) {
  auto sum = dyn_cast<arith::AddFOp>(op);
  auto product = sum ? sum.getLhs().getDefiningOp<arith::MulFOp>() : nullptr;
  if (!product || tensorType(product).getRank() < 3)
    return std::nullopt;
  GroupNorm found{
      {}, perChannel(product.getRhs()), perChannel(sum.getRhs()), {}};
  Value normal = product.getLhs();
  if (auto back = normal.getDefiningOp<ReshapeOp>())
    normal = back.getInput();
  found.norm = normal.getDefiningOp<BatchNormTrainingOp>();
  if (!found.norm || !found.scale || !found.bias ||
      tensorType(found.norm.getInput()).getRank() != 3 ||
      tensorType(found.norm.getInput()).getDimSize(0) != 1 ||
      !isNumber(found.norm.getScale(), 1) || !isNumber(found.norm.getBias(), 0))
    return std::nullopt;
  found.input = found.norm.getInput();
  if (auto fold = found.input.getDefiningOp<ReshapeOp>())
    found.input = fold.getInput();
  bool isWhole = found.input.getType() == sum.getType();
  int64_t rows = tensorType(found.norm.getScale()).getDimSize(0),
          images = tensorType(sum).getDimSize(0);
  bool divides = rows > 0 && images > 0 && rows % images == 0 &&
                 tensorType(sum).getDimSize(1) % (rows / images) == 0;
  return isWhole && divides ? std::optional(found) : std::nullopt;
}

int64_t groupsOf(GroupNorm found) {
  return tensorType(found.norm.getScale()).getDimSize(0) /
         tensorType(found.input).getDimSize(0);
}

bool isInstanceNorm(Operation *op) {
  std::optional<GroupNorm> found = groupNormOf(op);
  return found &&
         groupsOf(*found) == tensorType(op->getResult(0)).getDimSize(1);
}

bool isGroupNorm(Operation *op) { return bool(groupNormOf(op)); }

Names inputsOf(const OpWriter &w, const GroupNorm &found) {
  return {w.graph.nameOf(found.input), w.graph.nameOf(found.scale),
          w.graph.nameOf(found.bias)};
}

absl::Status writeInstanceNorm(const OpWriter &w, const char *node) {
  GroupNorm found = *groupNormOf(w.op);
  return w.define(
      node, inputsOf(w, found),
      {attribute("epsilon", found.norm.getEpsilon().convertToDouble())});
}

absl::Status writeGroupNorm(const OpWriter &w, const char *node) {
  w.graph.needOpset(21);
  GroupNorm found = *groupNormOf(w.op);
  return w.define(
      node, inputsOf(w, found),
      {attribute("epsilon", found.norm.getEpsilon().convertToDouble()),
       attribute("num_groups", groupsOf(found))});
}

constexpr Ignored kIgnored[] = {
    {"is_test", "the number of outputs says the same"}};

const Operator kOperators[] = {
    {"BatchNormalization",
     {6, "X, scale, B",
      "`spatial` of 0 (before opset 9); other uses of the running statistics "
      "it gives",
      judgeBatchNorm, "", kIgnored},
     batchNormalization},
    {"InstanceNormalization", {6, "input, scale, B"}, instanceNormalization},
    {"GroupNormalization",
     {18, "X, scale, bias", "`stash_type` but f32 or the own type"},
     groupNormalization}};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"gradus.batch_norm", "BatchNormalization", writeBatchNorm},
    {"gradus.batch_norm_training", "BatchNormalization", writeOwnStatistics},
    {"arith.addf", "InstanceNormalization", writeInstanceNorm, isInstanceNorm},
    {"arith.addf", "GroupNormalization", writeGroupNorm, isGroupNorm},
};

} // namespace

llvm::ArrayRef<Operator> batchNormOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> batchNormExports() { return kExports; }

} // namespace gradus::onnx
