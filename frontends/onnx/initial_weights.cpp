// Which layer a weight belongs to, and how PyTorch's layer of that kind starts:
// linear and convolution U(-1/sqrt(fan in), 1/sqrt(fan in)) for weight and
// bias, recurrent layers U(-1/sqrt(hidden size), ...), embeddings N(0, 1),
// normalizations one and zero.

#include "frontends/onnx/initial_weights.h"

#include "frontends/onnx/onnx.pb.h"

#include "mlir/IR/Builders.h"

#include <cmath>

namespace gradus::onnx {

using llvm::StringRef;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

InitialWeights::InitialWeights(const ::onnx::GraphProto &graph,
                               std::string rule, mlir::MLIRContext &context)
    : rule_(std::move(rule)), context_(context) {
  add(graph);
}

/// Branches and bodies of loops have layers and weights, too.
void InitialWeights::add(const ::onnx::GraphProto &graph) {
  for (const TensorProto &tensor : graph.initializer())
    weights_[tensor.name()] = &tensor;
  for (const NodeProto &node : graph.node()) {
    for (int input = 0; input < node.input_size(); ++input)
      users_[node.input(input)].push_back({&node, input});
    for (const std::string &output : node.output())
      makers_[output] = &node;
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        add(attribute.g());
  }
}

InitAttr InitialWeights::make(Initializer rule, double value) const {
  mlir::Builder builder(&context_);
  return InitAttr::get(&context_, rule,
                       rule == Initializer::zeros
                           ? mlir::FloatAttr()
                           : builder.getF64FloatAttr(value));
}

static int64_t integer(const NodeProto &node, StringRef key, int64_t fallback) {
  for (const auto &attribute : node.attribute())
    if (attribute.name() == key)
      return attribute.i();
  return fallback;
}

static bool isOneOf(const NodeProto &node,
                    std::initializer_list<StringRef> ops) {
  return llvm::is_contained(ops, StringRef(node.op_type()));
}

/// The first user that computes; exporters put rearrangements before it.
std::optional<InitialWeights::Use>
InitialWeights::layerOf(StringRef name, bool transposed, int depth) const {
  auto users = users_.find(name);
  if (users == users_.end() || depth > 8)
    return {};
  for (auto [node, input] : users->second) {
    if (!isOneOf(*node, {"Transpose", "Reshape", "Cast", "CastLike", "Identity",
                         "Unsqueeze", "Squeeze", "Slice", "Concat", "Expand",
                         "Split"}))
      return Use{node, input, transposed};
    bool turned = transposed != (node->op_type() == "Transpose");
    if (auto use = layerOf(node->output(0), turned, depth + 1))
      return use;
  }
  return {};
}

/// How many inputs one output of the layer sees.
double InitialWeights::fanIn(const TensorProto &weight, const Use &use) const {
  int rank = weight.dims_size();
  bool firstIsIn = false; // the axis of inputs is the one before the last
  if (use.node->op_type() == "MatMul")
    firstIsIn = !use.transposed;
  if (use.node->op_type() == "Gemm")
    firstIsIn = !integer(*use.node, "transB", 0) != use.transposed;
  if (rank < 2)
    return std::max<double>(1, rank ? weight.dims(0) : 1);
  if (isOneOf(*use.node, {"MatMul", "Gemm"}))
    return weight.dims(firstIsIn ? rank - 2 : rank - 1);
  double fan = weight.dims(1);
  for (int axis = 2; axis < rank; ++axis)
    fan *= weight.dims(axis);
  return fan;
}

/// The inputs that the weight sees whose layer has this bias; 0 if none does.
double InitialWeights::fanInBeside(const Use &bias) const {
  const NodeProto *layer = bias.node;
  if (layer->op_type() == "Add" && layer->input_size() == 2)
    layer = makers_.lookup(layer->input(1 - bias.input));
  if (!layer || !isOneOf(*layer, {"MatMul", "Gemm", "Conv", "ConvTranspose"}))
    return 0;
  // Back through the rearrangements to the weight itself.
  std::string name = layer->input(1);
  bool transposed = false;
  while (const NodeProto *maker = makers_.lookup(name)) {
    transposed ^= maker->op_type() == "Transpose";
    if (maker->input_size() == 0)
      return 0;
    name = maker->input(0);
  }
  const TensorProto *weight = weights_.lookup(name);
  return weight ? fanIn(*weight, {layer, 1, transposed}) : 0;
}

InitAttr InitialWeights::matrix(double fanIn) const {
  if (rule_ == "normal")
    return make(Initializer::normal, 0.02);
  if (rule_ == "kaiming_uniform" || rule_ == "xavier_uniform")
    return InitAttr::get(&context_, *symbolizeInitializer(rule_), {});
  return make(Initializer::uniform, 1 / std::sqrt(std::max(1.0, fanIn)));
}

std::optional<InitAttr>
InitialWeights::byLayer(const TensorProto &tensor) const {
  std::optional<Use> use = layerOf(tensor.name());
  if (!use)
    return {};
  const NodeProto &node = *use->node;
  if (StringRef(node.op_type()).ends_with("Normalization"))
    return use->input == 1 || use->input == 4 ? make(Initializer::constant, 1)
                                              : make(Initializer::zeros, 0);
  if (isOneOf(node, {"LSTM", "GRU", "RNN"}))
    return make(Initializer::uniform,
                1 / std::sqrt(double(integer(node, "hidden_size", 1))));
  if (node.op_type() == "Gather" && use->input == 0)
    return rule_ == "pytorch" ? make(Initializer::normal, 1) : matrix(1);
  bool isLayer =
      isOneOf(node, {"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum"});
  if (isLayer && use->input < 2 && tensor.dims_size() >= 2)
    return matrix(fanIn(tensor, *use));
  if (double fan = fanInBeside(*use))
    return make(Initializer::uniform, 1 / std::sqrt(fan));
  return {};
}

/// What no layer explains: a vector named bias at zero, any other at one (the
/// factor of a normalization), tables small.
InitAttr InitialWeights::byName(const TensorProto &tensor) const {
  if (tensor.dims_size() >= 2)
    return rule_ == "pytorch" ? make(Initializer::normal, 0.02) : matrix(1);
  if (StringRef(tensor.name()).ends_with("bias"))
    return make(Initializer::zeros, 0);
  return make(Initializer::constant, 1);
}

InitAttr InitialWeights::of(const TensorProto &tensor) const {
  if (rule_ == "zeros" || rule_.empty())
    return make(Initializer::zeros, 0);
  if (auto init = byLayer(tensor))
    return *init;
  return byName(tensor);
}

} // namespace gradus::onnx
