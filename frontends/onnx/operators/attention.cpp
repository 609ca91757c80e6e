// ONNX's attention and rotary embedding, in small ops.

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/operators.h"

#include <cmath>

namespace gradus::onnx {
namespace {

using namespace mlir;
using IntegerIs = arith::CmpIPredicate;

constexpr double kNone = -INFINITY;

/// The operands of attention, all [batch, heads, length, width].
struct Parts {
  Value query, key, value;
  Value bias;                        // added to the scores, or null
  Value allowed;                     // keys that a query may see, or null
  Type softmax;                      // of the numbers that it computes with
  int64_t past = 0;                  // keys before the first query
  bool causal = false;               // no key after a query, besides the mask
  SmallVector<int64_t> scores, mask; // shapes
};

int64_t extent(Value value, int64_t axis) {
  return tensorType(value).getDimSize(axis);
}

//===-- heads -------------------------------------------------------------===//

/// Reshapes [B, S, H W] to [B, H, S, W]; rank 4 has that form already.
absl::StatusOr<Value> heads(const Building &b, int input, const char *key) {
  GRADUS_ASSIGN_OR_RETURN(Value value, b.importer.value(b.node, input));
  RankedTensorType type = tensorType(value);
  int64_t count = b.node.integer(key, 0);
  if (type.getRank() == 4)
    return value;
  if (type.getRank() != 3 || count < 1 || type.getDimSize(2) % count != 0)
    return b.node.error("its input \"", b.node.input(input).str(),
                        "\" of shape [", joined(type.getShape()), "] has no ",
                        count, " heads (", key, ")");
  Value split = b.shaped(value, {type.getDimSize(0), type.getDimSize(1), count,
                                 type.getDimSize(2) / count});
  return b.permuted(split, {0, 2, 1, 3});
}

Value joinAlong(const Building &b, Value front, Value back, int64_t axis) {
  SmallVector<int64_t> shape(tensorType(back).getShape());
  shape[axis] += extent(front, axis);
  return b.make<ConcatenateOp>(tensorType(back).clone(shape),
                               SmallVector<Value>{front, back}, axis);
}

/// Puts the cache in front of the new keys or values.
absl::StatusOr<Value> withPast(const Building &b, int input, Value fresh) {
  if (b.node.input(input).empty())
    return fresh;
  GRADUS_ASSIGN_OR_RETURN(Value past, b.importer.value(b.node, input, 4));
  return joinAlong(b, past, fresh, 2);
}

/// Repeats each head of the keys or values for all query heads that share it.
absl::StatusOr<Value> repeated(const Building &b, Value value, int64_t count) {
  ArrayRef<int64_t> shape = tensorType(value).getShape();
  if (shape[1] == count)
    return value;
  if (count % shape[1] != 0)
    return b.node.error("has ", count, " query heads for ", shape[1],
                        " of keys and values");
  Value each = broadcast(
      b.builder, b.loc, value,
      {shape[0], shape[1], count / shape[1], shape[2], shape[3]}, {0, 1, 3, 4});
  return b.shaped(each, {shape[0], count, shape[2], shape[3]});
}

//===-- masks -------------------------------------------------------------===//

Value both(const Building &b, Value x, Value y) {
  return !x ? y : b.make<arith::AndIOp>(x, y);
}

/// Reads the mask: numbers are added to the scores, booleans say which keys are
/// visible.
absl::Status readMask(const Building &b, Parts &parts) {
  ArrayRef<int64_t> scores = parts.scores;
  if (b.node.input(3).empty())
    return absl::OkStatus();
  GRADUS_ASSIGN_OR_RETURN(Value mask, b.importer.value(b.node, 3));
  // Numbers of any type are converted and added to the scores.
  if (!tensorType(mask).getElementType().isInteger(1))
    mask = castTo(b, mask, tensorType(parts.query).getElementType());
  RankedTensorType type = tensorType(mask);
  SmallVector<int64_t> shape(type.getShape()), none(type.getRank(), 0),
      high(type.getRank(), 0);
  int64_t missing = type.getRank() ? scores[3] - shape.back() : 0;
  bool truth = !Building::isFloat(mask);
  if (missing > 0 && shape.back() > 1) {
    high.back() = missing;
    shape.back() = scores[3];
    mask = b.make<PadOp>(type.clone(shape), mask, none, high, none,
                         APFloat(truth ? 0.0 : kNone));
  }
  absl::StatusOr<SmallVector<int64_t>> common = commonShape(shape, scores);
  if (!common.ok() || ArrayRef<int64_t>(*common) != scores)
    return b.node.error("its mask of shape [", joined(shape),
                        "] does not fit scores of shape [", joined(scores),
                        "]");
  mask = broadcastLast(b.builder, b.loc, mask, parts.mask);
  (truth ? parts.allowed : parts.bias) = mask;
  return absl::OkStatus();
}

/// Hides keys after the query's own position (which starts at `offset`),
/// outside a window around it, and beyond the sequence length.
absl::Status limitKeys(const Building &b, Parts &parts) {
  ArrayRef<int64_t> scores = parts.mask;
  Value query = b.indicesAlong(scores, 2), key = b.indicesAlong(scores, 3),
        lengths;
  Value offset = b.number(parts.past, query);
  if (!b.node.input(6).empty()) {
    GRADUS_ASSIGN_OR_RETURN(lengths, b.importer.value(b.node, 6, 1));
    lengths =
        broadcast(b.builder, b.loc, castTo(b, lengths, b.builder.getI64Type()),
                  scores, {0});
    offset = b.subtract(lengths, b.number(scores[2], lengths));
    parts.allowed =
        both(b, parts.allowed, b.compare(IntegerIs::slt, key, lengths));
  }
  Value own = b.add(query, offset);
  if (b.node.integer("is_causal", 0) && !parts.causal)
    parts.allowed = both(b, parts.allowed, b.compare(IntegerIs::sle, key, own));
  int64_t left = b.node.integer("left_window_size", -1),
          right = b.node.integer("right_window_size", -1);
  if (left >= 0)
    parts.allowed = both(
        b, parts.allowed,
        b.compare(IntegerIs::sge, key, b.subtract(own, b.number(left, own))));
  if (right >= 0)
    parts.allowed =
        both(b, parts.allowed,
             b.compare(IntegerIs::sle, key, b.add(own, b.number(right, own))));
  return absl::OkStatus();
}

//===-- attention ---------------------------------------------------------===//

/// Whether a query sees no key at all; null if that cannot happen. The scores
/// are of the softmax's type: its cast makes large finite masks infinite.
Value isAlone(const Building &b, const Parts &parts, Value scores) {
  if (!parts.bias && !parts.allowed)
    return {};
  Value best = reduce(b.builder, b.loc, Reduction::max, scores, {3});
  Value alone =
      b.compare(arith::CmpFPredicate::OEQ, best, b.number(kNone, best));
  return broadcastAlong(b.builder, b.loc, alone, tensorType(scores).getShape(),
                        {3});
}

/// The softmax of the scores. Rows without a visible key become zeros outside
/// the softmax, so that its gradient is finite.
Value probabilities(const Building &b, const Parts &parts, Value scores) {
  Type own = tensorType(scores).getElementType();
  scores = castTo(b, scores, parts.softmax);
  Value alone = isAlone(b, parts, scores), zero = b.number(0, scores);
  if (alone)
    scores = b.select(alone, zero, scores);
  Value result = b.make<SoftmaxOp>(false, scores, 3);
  return castTo(b, alone ? b.select(alone, zero, result) : result, own);
}

/// The scores at each stage; output 3 returns one of them.
struct Scores {
  Value product, capped, masked, softmax;

  Value at(int64_t stage) const {
    Value stages[] = {product, capped, masked, softmax};
    return stages[stage];
  }
};

Scores scoresOf(const Building &b, const Parts &parts) {
  double scale =
      b.node.number("scale", 1 / std::sqrt(double(extent(parts.query, 3))));
  Scores scores;
  Value query = b.multiply(parts.query, b.number(scale, parts.query));
  scores.product = matmul(b.builder, b.loc, query, parts.key, false, true);
  scores.capped = scores.product;
  if (double cap = b.node.number("softcap", 0); cap > 0) {
    Value limit = b.number(cap, scores.product);
    Value part = b.divide(scores.product, limit);
    scores.capped = b.multiply(b.make<math::TanhOp>(part), limit);
  }
  scores.masked = parts.bias ? b.add(scores.capped, parts.bias) : scores.capped;
  if (parts.allowed)
    scores.masked =
        b.select(parts.allowed, scores.masked, b.number(kNone, scores.masked));
  scores.softmax = probabilities(b, parts, scores.masked);
  return scores;
}

/// Whether AttentionOp can compute it: the query and the softmax are of f32,
/// the node gives no scores and has no softcap.
bool isPlain(const Building &b, const Parts &parts) {
  return b.node.output(3).empty() && b.node.number("softcap", 0) <= 0 &&
         tensorType(parts.query).getElementType().isF32() &&
         parts.softmax.isF32();
}

/// The type that the node names for its softmax, or that of `scores`.
absl::StatusOr<Type> softmaxType(const Building &b, Value scores) {
  int64_t wanted = b.node.integer("softmax_precision", 0);
  if (wanted == 0)
    return tensorType(scores).getElementType();
  Type type = elementType(wanted, b.importer.context());
  if (!isa_and_nonnull<FloatType>(type))
    return b.node.error("softmax_precision is ", dataTypeName(wanted),
                        ", expected FLOAT, FLOAT16, DOUBLE or BFLOAT16");
  return type;
}

/// The smallest mask shape: the head and batch dimensions are 1 unless the mask
/// differs along them.
SmallVector<int64_t> smallMask(const Building &b, const Parts &parts) {
  SmallVector<int64_t> shape = {1, 1, parts.scores[2], parts.scores[3]};
  absl::StatusOr<Value> mask = b.importer.value(b.node, 3);
  ArrayRef<int64_t> given = !b.node.input(3).empty() && mask.ok()
                                ? tensorType(*mask).getShape()
                                : ArrayRef<int64_t>();
  if (given.size() > 2 && given[given.size() - 3] > 1)
    shape[1] = parts.scores[1];
  if ((given.size() > 3 && given[given.size() - 4] > 1) ||
      !b.node.input(6).empty())
    shape[0] = parts.scores[0];
  return shape;
}

absl::Status readParts(const Building &b, Parts &parts) {
  GRADUS_ASSIGN_OR_RETURN(parts.query, heads(b, 0, "q_num_heads"));
  GRADUS_ASSIGN_OR_RETURN(parts.softmax, softmaxType(b, parts.query));
  GRADUS_ASSIGN_OR_RETURN(Value key, heads(b, 1, "kv_num_heads"));
  GRADUS_ASSIGN_OR_RETURN(Value value, heads(b, 2, "kv_num_heads"));
  GRADUS_ASSIGN_OR_RETURN(parts.key, withPast(b, 4, key));
  GRADUS_ASSIGN_OR_RETURN(parts.value, withPast(b, 5, value));
  parts.past = extent(parts.key, 2) - extent(key, 2);
  GRADUS_RETURN_IF_ERROR(b.importer.define(b.node, 1, parts.key));
  GRADUS_RETURN_IF_ERROR(b.importer.define(b.node, 2, parts.value));
  int64_t count = extent(parts.query, 1);
  GRADUS_ASSIGN_OR_RETURN(parts.key, repeated(b, parts.key, count));
  GRADUS_ASSIGN_OR_RETURN(parts.value, repeated(b, parts.value, count));
  if (extent(parts.query, 3) != extent(parts.key, 3) ||
      extent(parts.key, 2) != extent(parts.value, 2))
    return b.node.error("queries of shape [",
                        joined(tensorType(parts.query).getShape()),
                        "] do not fit keys of shape [",
                        joined(tensorType(parts.key).getShape()), "]");
  parts.scores = {extent(parts.query, 0), count, extent(parts.query, 2),
                  extent(parts.key, 2)};
  parts.mask = isPlain(b, parts) ? smallMask(b, parts) : parts.scores;
  parts.causal = isPlain(b, parts) && b.node.integer("is_causal", 0) &&
                 parts.past == 0 && b.node.input(6).empty();
  GRADUS_RETURN_IF_ERROR(readMask(b, parts));
  return limitKeys(b, parts);
}

/// The mask and bias as one operand; null if there is neither.
Value maskOf(const Building &b, const Parts &parts) {
  return parts.bias && parts.allowed
             ? b.select(parts.allowed, parts.bias, b.number(kNone, parts.bias))
         : parts.bias ? parts.bias
                      : parts.allowed;
}

Value wholeAttention(const Building &b, const Parts &parts) {
  double scale =
      b.node.number("scale", 1 / std::sqrt(double(extent(parts.query, 3))));
  return AttentionOp::create(b.builder, b.loc, parts.query, parts.key,
                             parts.value, maskOf(b, parts), parts.causal, scale)
      .getResult();
}

absl::Status attention(Importer &importer, const Node &node) {
  Building b(importer, node);
  Parts parts;
  GRADUS_RETURN_IF_ERROR(readParts(b, parts));
  int64_t stage = node.integer("qk_matmul_output_mode", 0);
  if (stage < 0 || stage > 3)
    return node.error("qk_matmul_output_mode is ", stage, ", expected 0 to 3");
  Value result;
  if (isPlain(b, parts)) {
    result = wholeAttention(b, parts);
  } else {
    Scores scores = scoresOf(b, parts);
    GRADUS_RETURN_IF_ERROR(importer.define(node, 3, scores.at(stage)));
    result = matmul(b.builder, b.loc, scores.softmax, parts.value);
  }
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType given, importer.type(node, 0));
  if (given.getRank() == 3)
    result = b.shaped(b.permuted(result, {0, 2, 1, 3}),
                      {extent(result, 0), extent(result, 2),
                       extent(result, 1) * extent(result, 3)});
  return importer.define(node, 0, result);
}

//===-- rotary embedding --------------------------------------------------===//

/// Every `step`-th element of the last dimension, beginning at `start`.
Value lastPart(const Building &b, Value value, int64_t start, int64_t count,
               int64_t step = 1) {
  SmallVector<int64_t> shape(tensorType(value).getShape());
  SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
  shape.back() = count;
  starts.back() = start;
  steps.back() = step;
  return b.make<SliceOp>(tensorType(value).clone(shape), value, starts, steps);
}

/// The cosines or sines of each position, [B, 1, S, W / 2].
absl::StatusOr<Value> cached(const Building &b, int input,
                             ArrayRef<int64_t> shape) {
  GRADUS_ASSIGN_OR_RETURN(Value cache, b.importer.value(b.node, input));
  if (!b.node.input(3).empty()) {
    GRADUS_ASSIGN_OR_RETURN(Value at, b.importer.value(b.node, 3));
    if (tensorType(cache).getRank() != 2)
      return b.node.error("its input \"", b.node.input(input).str(),
                          "\" has rank ", tensorType(cache).getRank(),
                          ", expected 2: a row of angles for each position");
    SmallVector<int64_t> gathered(tensorType(at).getShape());
    gathered.push_back(extent(cache, 1));
    cache =
        b.make<GatherOp>(tensorType(cache).clone(gathered), cache, at, 0, 0);
  }
  ArrayRef<int64_t> found = tensorType(cache).getShape();
  if (found.size() != 3 || found[0] != shape[0] || found[1] != shape[2] ||
      found[2] != shape[3])
    return b.node.error(
        "its input \"", b.node.input(input).str(), "\" gives angles of shape [",
        joined(found), "], expected [",
        joined(SmallVector<int64_t>{shape[0], shape[2], shape[3]}), "]");
  return broadcast(b.builder, b.loc, cache, shape, {0, 2, 3});
}

/// Rotates pairs (x1, x2) by an angle each; pairs are halves or neighbours.
absl::StatusOr<Value> rotated(const Building &b, Value value) {
  SmallVector<int64_t> shape(tensorType(value).getShape());
  bool neighbours = b.node.integer("interleaved", 0);
  int64_t half = shape[3] / 2, step = neighbours ? 2 : 1;
  shape[3] = half;
  GRADUS_ASSIGN_OR_RETURN(Value cosine, cached(b, 1, shape));
  GRADUS_ASSIGN_OR_RETURN(Value sine, cached(b, 2, shape));
  Value x = lastPart(b, value, 0, half, step),
        y = lastPart(b, value, neighbours ? 1 : half, half, step);
  Value real = b.subtract(b.multiply(cosine, x), b.multiply(sine, y)),
        imaginary = b.add(b.multiply(sine, x), b.multiply(cosine, y));
  if (!neighbours)
    return joinAlong(b, real, imaginary, 3);
  SmallVector<int64_t> pairs(shape);
  pairs.push_back(1);
  Value together =
      joinAlong(b, b.shaped(real, pairs), b.shaped(imaginary, pairs), 4);
  return b.shaped(together, tensorType(value).getShape());
}

absl::Status rotaryEmbedding(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value value, heads(b, 0, "num_heads"));
  int64_t width = extent(value, 3),
          turned = node.integer("rotary_embedding_dim", 0);
  turned = turned ? turned : width;
  if (turned < 2 || turned > width || turned % 2)
    return node.error("turns ", turned, " of ", width, " features");
  GRADUS_ASSIGN_OR_RETURN(Value result,
                          rotated(b, lastPart(b, value, 0, turned)));
  if (turned < width)
    result =
        joinAlong(b, result, lastPart(b, value, turned, width - turned), 3);
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType given, importer.type(node, 0));
  if (given.getRank() == 3)
    result = b.shaped(b.permuted(result, {0, 2, 1, 3}), given.getShape());
  return importer.define(node, 0, result);
}

//===-- export ------------------------------------------------------------===//

absl::Status writeAttention(const OpWriter &w, const char *node) {
  auto attention = cast<AttentionOp>(w.op);
  if (attention.getDropout() || attention.getStep())
    return w.error("drops probabilities, which ONNX has no node for");
  w.graph.needOpset(23);
  Names inputs = {w.input(0), w.input(1), w.input(2)};
  if (Value mask = attention.getMask())
    inputs.push_back(w.graph.nameOf(mask));
  for (Value value : {attention.getLogsumexp(), attention.getRemainder()})
    w.graph.refuse(value, w.error("gives logarithms of sums, which ONNX has no "
                                  "node for"));
  return w.define(node, inputs,
                  {attribute("scale", attention.getScale().convertToDouble()),
                   attribute("is_causal", int64_t(attention.getCausal()))});
}

const Operator kOperators[] = {
    {"Attention",
     {23, "Q, K, V, attn_mask, past_key, past_value",
      "`softmax_precision` but f32, f16, f64 and bf16"},
     attention},
    {"RotaryEmbedding", {23, "X, cos_cache, sin_cache"}, rotaryEmbedding}};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"gradus.attention", "Attention", writeAttention},
};

} // namespace

llvm::ArrayRef<Operator> attentionOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> attentionExports() { return kExports; }

} // namespace gradus::onnx
