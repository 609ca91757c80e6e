// ONNX ops that normalize by mean and variance: of channels, of single images
// or of groups of channels.

#include "frontends/onnx/operators/operators.h"

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

const Operator kOperators[] = {
    {"BatchNormalization",
     {6, "X, scale, B",
      "`spatial` of 0 (before opset 9); other uses of the running statistics "
      "it gives",
      judgeBatchNorm},
     batchNormalization},
    {"InstanceNormalization", {6, "input, scale, B"}, instanceNormalization},
    {"GroupNormalization", {18, "X, scale, bias"}, groupNormalization}};

} // namespace

llvm::ArrayRef<Operator> batchNormOperators() { return kOperators; }

} // namespace gradus::onnx
