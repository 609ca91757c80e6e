// ONNX ops with a state along a sequence: attention that is linear in the keys,
// and the causal convolution that is used with it.

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/operators.h"
#include "ir/scan_ops.h"

#include <cmath>

namespace gradus::onnx {
namespace {

using namespace mlir;

RankedTensorType shapedLike(Value value, ArrayRef<int64_t> shape) {
  return tensorType(value).clone(shape);
}

Value concatenated(const Building &b, ArrayRef<Value> parts, int64_t axis) {
  SmallVector<int64_t> shape(tensorType(parts[0]).getShape());
  for (Value part : parts.drop_front())
    shape[axis] += tensorType(part).getDimSize(axis);
  return b.make<ConcatenateOp>(shapedLike(parts[0], shape), parts, axis);
}

//===-- CausalConvWithState -----------------------------------------------===//

/// Convolves each channel with earlier elements; the last k - 1 elements are
/// the state for the next part of the sequence.
absl::Status causalConvolution(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0, 3));
  GRADUS_ASSIGN_OR_RETURN(Value weight, importer.value(node, 1, 3));
  ArrayRef<int64_t> shape = tensorType(input).getShape(),
                    kernel = tensorType(weight).getShape();
  SmallVector<int64_t> before = {shape[0], shape[1], kernel[2] - 1};
  std::string activation = node.text("activation", "none");
  if (kernel[0] != shape[1] || kernel[1] != 1 || kernel[2] < 2 ||
      !Building::isFloat(input))
    return node.error("a weight of shape [", joined(kernel),
                      "] for an input of shape [", joined(shape),
                      "] is not supported");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return node.error("activation is \"", activation,
                      "\", which is not supported");
  Value past = splat(b.builder, b.loc, shapedLike(input, before), 0);
  if (!node.input(3).empty()) {
    GRADUS_ASSIGN_OR_RETURN(past, importer.value(node, 3, 3));
  }
  if (past.getType() != shapedLike(input, before))
    return node.error("its past state does not have the shape [",
                      joined(before), "]");
  Value whole = concatenated(b, {past, input}, 2);
  SmallVector<int64_t> one = {1}, none = {0};
  Value y = ConvolutionOp::create(b.builder, b.loc, input.getType(), whole,
                                  weight, one, none, none, one,
                                  /*groups=*/shape[1]);
  if (!node.input(2).empty()) {
    GRADUS_ASSIGN_OR_RETURN(Value bias, importer.value(node, 2, 1));
    if (tensorType(bias).getDimSize(0) != shape[1])
      return node.error("its bias has ", tensorType(bias).getDimSize(0),
                        " elements, expected ", shape[1]);
    y = b.add(y, broadcast(b.builder, b.loc, bias, shape, {1}));
  }
  if (activation != "none") {
    Type element = tensorType(y).getElementType();
    Value wide = castTo(b, y, computeType(element));
    y = castTo(b, b.multiply(wide, b.make<SigmoidOp>(wide.getType(), wide)),
               element);
  }
  GRADUS_RETURN_IF_ERROR(importer.define(node, 0, y));
  return importer.define(node, 1,
                         b.cutAlong(whole, 2, shape[2], kernel[2] - 1));
}

//===-- LinearAttention ---------------------------------------------------===//

/// The sizes: batch, steps, heads of keys, query heads for each of them, and
/// the lengths of a key and of a value.
struct Sizes {
  int64_t batch = 1, steps = 1, heads = 1, group = 1, key = 1, value = 1;
};

/// The inputs in f32 as [steps, batch * heads, rows, columns].
struct Sequences {
  Value query, key, value, decay, beta, state;
};

/// Moves the heads of [batch, steps, heads * rows * columns] to the batch.
absl::StatusOr<Value> unpacked(const Building &b, int input, const Sizes &s,
                               int64_t heads, int64_t rows, int64_t columns) {
  GRADUS_ASSIGN_OR_RETURN(Value value, b.importer.value(b.node, input, 3));
  SmallVector<int64_t> expected = {s.batch, s.steps, heads * rows * columns};
  if (tensorType(value).getShape() != ArrayRef<int64_t>(expected))
    return b.node.error("its input \"", b.node.input(input).str(),
                        "\" has shape [", joined(tensorType(value).getShape()),
                        "], expected [", joined(expected), "]");
  value = castTo(b, value, b.builder.getF32Type());
  value = b.permuted(b.shaped(value, {s.batch, s.steps, heads, rows, columns}),
                     {1, 0, 2, 3, 4});
  return b.shaped(value, {s.steps, s.batch * heads, rows, columns});
}

absl::StatusOr<Sizes> sizesOf(const Building &b) {
  const Node &node = b.node;
  Sizes s;
  Value inputs[3];
  for (int i = 0; i < 3; ++i) {
    GRADUS_ASSIGN_OR_RETURN(inputs[i], b.importer.value(node, i, 3));
  }
  ArrayRef<int64_t> query = tensorType(inputs[0]).getShape();
  int64_t heads = node.integer("q_num_heads", 0);
  s.heads = node.integer("kv_num_heads", 0);
  if (s.heads < 1 || heads < 1 || heads % s.heads || query[2] % heads)
    return node.error("q_num_heads is ", heads, " and kv_num_heads ", s.heads,
                      ", which do not fit ", query[2], " channels");
  s.batch = query[0];
  s.steps = query[1];
  s.group = heads / s.heads;
  s.key = query[2] / heads;
  s.value = tensorType(inputs[2]).getShape()[2] / s.heads;
  return s;
}

absl::StatusOr<Value> firstState(const Building &b, const Sizes &s) {
  SmallVector<int64_t> shape = {s.batch * s.heads, s.key, s.value};
  Type real = b.builder.getF32Type();
  if (b.node.input(3).empty())
    return splat(b.builder, b.loc, RankedTensorType::get(shape, real), 0);
  GRADUS_ASSIGN_OR_RETURN(Value state, b.importer.value(b.node, 3, 4));
  SmallVector<int64_t> expected = {s.batch, s.heads, s.key, s.value};
  if (tensorType(state).getShape() != ArrayRef<int64_t>(expected))
    return b.node.error("its past state does not have the shape [",
                        joined(expected), "]");
  return castTo(b, b.shaped(state, shape), real);
}

absl::StatusOr<Sequences> sequencesOf(const Building &b, const Sizes &s) {
  const Node &node = b.node;
  Sequences all;
  GRADUS_ASSIGN_OR_RETURN(all.query,
                          unpacked(b, 0, s, s.heads, s.group, s.key));
  GRADUS_ASSIGN_OR_RETURN(all.key, unpacked(b, 1, s, s.heads, s.key, 1));
  GRADUS_ASSIGN_OR_RETURN(all.value, unpacked(b, 2, s, s.heads, 1, s.value));
  GRADUS_ASSIGN_OR_RETURN(all.state, firstState(b, s));
  std::string rule = node.text("update_rule", "gated_delta");
  bool gated = rule == "gated" || rule == "gated_delta",
       corrected = rule == "delta" || rule == "gated_delta";
  if ((!gated && !corrected && rule != "linear") ||
      node.input(4).empty() == gated || node.input(5).empty() == corrected)
    return node.error("update_rule \"", rule, "\" with",
                      node.input(4).empty() ? "out" : "", " decay and with",
                      node.input(5).empty() ? "out" : "",
                      " beta is not supported");
  if (gated) {
    GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, b.importer.type(node, 4));
    bool byHead = type.getRank() == 3 && type.getDimSize(2) == s.heads;
    GRADUS_ASSIGN_OR_RETURN(all.decay,
                            unpacked(b, 4, s, s.heads, byHead ? 1 : s.key, 1));
  }
  if (corrected) {
    GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, b.importer.type(node, 5));
    bool shared = type.getRank() == 3 && type.getDimSize(2) == 1;
    GRADUS_ASSIGN_OR_RETURN(all.beta,
                            unpacked(b, 5, s, shared ? 1 : s.heads, 1, 1));
    if (shared && s.heads > 1)
      all.beta = b.shaped(broadcast(b.builder, b.loc,
                                    b.shaped(all.beta, {s.steps, s.batch}),
                                    {s.steps, s.batch, s.heads}, {0, 1}),
                          {s.steps, s.batch * s.heads, 1, 1});
  }
  return all;
}

/// One step of a sequence, without the first axis.
Value at(const Building &b, Value sequence, int64_t step) {
  Value one = b.cutAlong(sequence, 0, step, 1);
  return b.shaped(one, tensorType(one).getShape().drop_front());
}

/// S <- exp(decay) S + k (beta (v - S' k))'; replaces `state` by the new one.
Value step(const Building &b, const Sequences &all, int64_t t, Value &state) {
  auto wide = [&](Value value, Value like) {
    return broadcastLast(b.builder, b.loc, value, tensorType(like).getShape());
  };
  Value key = at(b, all.key, t), value = at(b, all.value, t);
  if (all.decay)
    state = b.multiply(state, wide(b.exponential(at(b, all.decay, t)), state));
  if (all.beta) {
    Value known = matmul(b.builder, b.loc, key, state, true);
    value =
        b.multiply(wide(at(b, all.beta, t), value), b.subtract(value, known));
  }
  state = b.add(state, matmul(b.builder, b.loc, key, value));
  return matmul(b.builder, b.loc, at(b, all.query, t), state);
}

absl::Status linearAttention(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Sizes s, sizesOf(b));
  GRADUS_ASSIGN_OR_RETURN(Sequences all, sequencesOf(b, s));
  if (s.steps > kMostStepsWrittenOut) // each becomes ops of its own
    return node.error("has ", s.steps, " steps; at most ", kMostStepsWrittenOut,
                      " are supported");
  double scale = node.number("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(double(s.key));
  SmallVector<Value> outputs;
  Value state = all.state;
  for (int64_t t = 0; t < s.steps; ++t)
    outputs.push_back(b.shaped(step(b, all, t, state),
                               {s.batch, 1, s.heads * s.group * s.value}));
  Value output = concatenated(b, outputs, 1);
  output = b.multiply(output, b.number(scale, output));
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, importer.type(node, 0));
  Type element = type.getElementType();
  GRADUS_RETURN_IF_ERROR(importer.define(node, 0, castTo(b, output, element)));
  if (!node.input(3).empty()) {
    GRADUS_ASSIGN_OR_RETURN(type, importer.type(node, 3));
  }
  state = b.shaped(state, {s.batch, s.heads, s.key, s.value});
  return importer.define(node, 1, castTo(b, state, type.getElementType()));
}

constexpr Ignored kIgnored[] = {
    {"chunk_size", "ONNX calls it a hint for tuning"}};

const Operator kOperators[] = {
    {"CausalConvWithState",
     {27, "input, weight, bias, past_state", "kernels of one element"},
     causalConvolution},
    {"LinearAttention",
     {27, "query, key, value, decay, beta, past_state", "very long sequences",
      nullptr, "", kIgnored},
     linearAttention},
};

} // namespace

llvm::ArrayRef<Operator> linearAttentionOperators() { return kOperators; }

} // namespace gradus::onnx
