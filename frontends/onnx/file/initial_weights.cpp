// Finds the layer of a weight, and PyTorch's initialization of such a weight:
// by the chosen rule of torch.nn.init, else as the layer does: linear and
// convolution U(-1/sqrt(fan in), 1/sqrt(fan in)) for weight and bias, recurrent
// layers U(-1/sqrt(hidden size), ...), embeddings N(0, 1), normalizations one
// and zero, slopes of PReLU a quarter.

#include "frontends/onnx/file/initial_weights.h"

#include "frontends/onnx/file/onnx.pb.h"

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

/// Adds the layers and weights of a graph and of nested graphs.
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

/// The maximum number of rearrangements between a weight and its layer, which
/// also ends cycles.
constexpr int kMostRearrangements = 8;

/// The first consumer that computes; exporters put rearrangements before it.
std::optional<InitialWeights::Use>
InitialWeights::layerOf(StringRef name, bool transposed, int depth) const {
  auto users = users_.find(name);
  if (users == users_.end() || depth > kMostRearrangements)
    return {};
  for (auto [node, input] : users->second) {
    if (!isOneOf(*node, {"Transpose", "Reshape", "Cast", "CastLike", "Identity",
                         "Unsqueeze", "Squeeze", "Slice", "Concat", "Expand",
                         "Split"}))
      return Use{node, input, transposed};
    bool turned = transposed != (node->op_type() == "Transpose");
    if (node->output_size() == 0)
      continue;
    if (auto use = layerOf(node->output(0), turned, depth + 1))
      return use;
  }
  return {};
}

namespace {
/// The number of inputs for one output of a layer, and of outputs for one
/// input.
struct Fans {
  double in = 1, out = 1;
};
} // namespace

/// Fans as torch.nn.init computes them: from [out, in, window...], even for
/// transposed convolutions, whose weights are [in, out, window...].
static Fans fansByShape(const TensorProto &weight) {
  int rank = weight.dims_size();
  if (rank < 2)
    return {std::max<double>(1, rank ? weight.dims(0) : 1), 1};
  double window = 1;
  for (int axis = 2; axis < rank; ++axis)
    window *= weight.dims(axis);
  return {weight.dims(1) * window, weight.dims(0) * window};
}

/// Matmuls have [in, out] as the last two dimensions, or [out, in]; gates of
/// recurrent layers are [directions, out, in].
static Fans fansOf(const TensorProto &weight, const NodeProto &node,
                   bool transposed) {
  int rank = weight.dims_size();
  bool isProduct = isOneOf(node, {"MatMul", "Gemm"});
  if (rank < 2 || (!isProduct && !isOneOf(node, {"LSTM", "GRU", "RNN"})))
    return fansByShape(weight);
  bool firstIsIn = isProduct && !transposed;
  if (node.op_type() == "Gemm" && integer(node, "transB", 0))
    firstIsIn = transposed;
  double last = weight.dims(rank - 1), before = weight.dims(rank - 2);
  return firstIsIn ? Fans{before, last} : Fans{last, before};
}

double InitialWeights::fanIn(const TensorProto &weight, const Use &use) const {
  return fansOf(weight, *use.node, use.transposed).in;
}

/// The fan-in of the weight in the layer with this bias; 0 if there is none.
double InitialWeights::fanInBeside(const Use &bias) const {
  const NodeProto *layer = bias.node;
  if (layer->op_type() == "Add" && layer->input_size() == 2)
    layer = makers_.lookup(layer->input(1 - bias.input));
  if (!layer || layer->input_size() < 2 ||
      !isOneOf(*layer, {"MatMul", "Gemm", "Conv", "ConvTranspose"}))
    return 0;
  // Follow the rearrangements back to the weight.
  std::string name = layer->input(1);
  bool transposed = false;
  for (int depth = 0; depth <= kMostRearrangements; ++depth) {
    const NodeProto *maker = makers_.lookup(name);
    if (!maker)
      break;
    transposed ^= maker->op_type() == "Transpose";
    if (maker->input_size() == 0)
      return 0;
    name = maker->input(0);
  }
  const TensorProto *weight = weights_.lookup(name);
  return weight ? fanIn(*weight, {layer, 1, transposed}) : 0;
}

/// The denominator of a rule.
static double countedBy(StringRef rule, Fans fans) {
  return rule == "xavier_uniform" ? fans.in + fans.out : fans.in;
}

InitAttr InitialWeights::matrix(double fan) const {
  fan = std::max(1.0, fan);
  if (rule_ == "normal")
    return make(Initializer::normal, 0.02);
  if (rule_ == "kaiming_uniform" || rule_ == "xavier_uniform")
    return make(Initializer::uniform, std::sqrt(6 / fan));
  return make(Initializer::uniform, 1 / std::sqrt(fan));
}

std::optional<InitAttr>
InitialWeights::byLayer(const TensorProto &tensor) const {
  // nn.MultiheadAttention's parts are not layers of PyTorch.
  StringRef name = tensor.name();
  if (rule_ == "pytorch" && name.ends_with("in_proj_weight")) {
    Fans fans = fansByShape(tensor);
    return make(Initializer::uniform, std::sqrt(6 / (fans.in + fans.out)));
  }
  if (name.ends_with("in_proj_bias") ||
      (name.consume_back("out_proj.bias") &&
       weights_.contains((name + "in_proj_bias").str())))
    return make(Initializer::zeros, 0);
  std::optional<Use> use = layerOf(tensor.name());
  if (!use)
    return {};
  const NodeProto &node = *use->node;
  if (StringRef(node.op_type()).ends_with("Normalization"))
    return use->input == 1 || use->input == 4 ? make(Initializer::constant, 1)
                                              : make(Initializer::zeros, 0);
  if (node.op_type() == "PRelu" && use->input == 1)
    return make(Initializer::constant, 0.25);
  auto byFans = [&](Fans fans) { return matrix(countedBy(rule_, fans)); };
  bool isOfInputs = use->input == 1 || use->input == 2;
  if (isOneOf(node, {"LSTM", "GRU", "RNN"}) && rule_ != "pytorch" &&
      isOfInputs && tensor.dims_size() >= 2)
    return byFans(fansOf(tensor, node, false));
  if (isOneOf(node, {"LSTM", "GRU", "RNN"}))
    return make(Initializer::uniform,
                1 / std::sqrt(double(integer(node, "hidden_size", 1))));
  if (node.op_type() == "Gather" && use->input == 0)
    return rule_ == "pytorch" ? make(Initializer::normal, 1)
                              : byFans(fansByShape(tensor));
  bool isLayer =
      isOneOf(node, {"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum"});
  if (isLayer && use->input < 2 && tensor.dims_size() >= 2)
    return byFans(fansOf(tensor, node, use->transposed));
  if (double fan = fanInBeside(*use))
    return make(Initializer::uniform, 1 / std::sqrt(fan));
  return {};
}

/// Initializes by name if no layer is found: vectors named bias zero, other
/// vectors one (the factor of a normalization), tables small.
InitAttr InitialWeights::byName(const TensorProto &tensor) const {
  Fans fans = fansByShape(tensor);
  if (tensor.dims_size() >= 2)
    return rule_ == "pytorch" ? make(Initializer::normal, 0.02)
                              : matrix(countedBy(rule_, fans));
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
