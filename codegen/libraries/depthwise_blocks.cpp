// Builds the nests with the channels of a block as the last dimension, which
// becomes that of vectors.

#include "codegen/libraries/depthwise_blocks.h"

#include "codegen/libraries/blocked_tensor.h"
#include "codegen/plan/nest.h"

#include "llvm/ADT/TypeSwitch.h"

namespace gradus {
using namespace mlir;
using plan::NestOp;

int64_t Depthwise::channels() const { return shapeOf(activations[0])[1]; }

template <typename Op>
static Depthwise windowOf(Op op, ArrayRef<int64_t> weights) {
  return {op,
          {},
          {},
          weights.drop_front(2),
          op.getStrides(),
          op.getPadsBegin(),
          op.getPadsEnd(),
          op.getDilations()};
}

/// Each op with its tensors; whatever its groups are.
static std::optional<Depthwise> convolutionOf(Operation *op) {
  using Result = std::optional<Depthwise>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<ConvolutionOp>([](auto op) {
        Depthwise of = windowOf(op, shapeOf(op.getWeight()));
        of.activations = {op.getInput()};
        of.weights = op.getWeight();
        return of;
      })
      .Case<ConvolutionBackwardDataOp>([](auto op) {
        Depthwise of = windowOf(op, shapeOf(op.getWeight()));
        of.activations = {op.getGradient()};
        of.weights = op.getWeight();
        return of;
      })
      .Case<ConvolutionBackwardWeightsOp>([](auto op) {
        Depthwise of = windowOf(op, shapeOf(op.getResult()));
        of.activations = {op.getInput(), op.getGradient()};
        return of;
      })
      .Default(std::nullopt);
}

/// The distance that a window covers along a dimension, less one.
static int64_t reachOf(const Depthwise &of, unsigned d) {
  return of.dilations[d] * (of.window[d] - 1);
}

std::optional<Depthwise> depthwiseOf(Operation *op) {
  std::optional<Depthwise> of = convolutionOf(op);
  if (!of || of->window.size() != 2)
    return std::nullopt;
  ArrayRef<int64_t> weights =
      shapeOf(of->weights ? of->weights : op->getResult(0));
  int64_t outputs = weights[0];
  auto groups = op->getAttrOfType<IntegerAttr>("groups");
  if (weights[1] != 1 || outputs != of->channels() || !groups ||
      groups.getInt() != outputs)
    return std::nullopt;
  for (unsigned d = 0; d < 2; ++d)
    if (std::max(of->padsBegin[d], of->padsEnd[d]) > reachOf(*of, d))
      return std::nullopt;
  return of;
}

//===-- the nests ---------------------------------------------------------===//

namespace {

using Exprs = SmallVector<AffineExpr>;

/// Puts zeros around the pixels of a tensor in blocks, and between them.
Value padded(OpBuilder &builder, Location location, Value value,
             ArrayRef<int64_t> low, ArrayRef<int64_t> high,
             ArrayRef<int64_t> strides) {
  auto type = tensorType(value);
  SmallVector<int64_t> lows(5), highs(5), between(5), shape(type.getShape());
  for (unsigned d = 0; d < 2; ++d) {
    lows[2 + d] = low[d], highs[2 + d] = high[d];
    between[2 + d] = strides[d] - 1;
    shape[2 + d] = low[d] + (shape[2 + d] - 1) * strides[d] + 1 + high[d];
  }
  if (ArrayRef(shape) == type.getShape())
    return value;
  return PadOp::create(builder, location, type.clone(shape), value, lows, highs,
                       between, APFloat(0.0));
}

/// The weights `[C, 1, h, w]` as `[C/b, 1, h, w, b]`.
Value weightsInBlocks(OpBuilder &builder, Location location, Value weights,
                      int64_t block) {
  auto type = tensorType(weights);
  SmallVector<int64_t> shape(type.getShape());
  LibraryLayout plain = rowMajorLayout(shape), layout = plain;
  for (int64_t &stride : layout.strides)
    stride *= block;
  layout.strides[1] = layout.strides[0]; // of the only one
  layout.innerBlocks = {block};
  layout.innerAxes = {0};
  shape[0] /= block;
  shape.push_back(block);
  return reorder(builder, location, weights, type.clone(shape), plain, layout);
}

/// Sums products over the reduced dimensions; the sums of 16 bits are f32.
Value sumOfProducts(OpBuilder &builder, const Depthwise &of, NestParts parts,
                    RankedTensorType result) {
  auto wide = [](OpBuilder &inside, Location location, Value value) {
    return convert(inside, location, value, computeType(value.getType()));
  };
  auto multiply = [&](OpBuilder &inside, Location location, ValueRange values) {
    Value a = wide(inside, location, values[0]),
          b = wide(inside, location, values[1]);
    return SmallVector<Value>{arith::MulFOp::create(inside, location, a, b)};
  };
  auto round = [&](OpBuilder &inside, Location location, ValueRange values) {
    return SmallVector<Value>{
        convert(inside, location, values[0], result.getElementType())};
  };
  parts.resultTypes = {result};
  NestOp nest = buildNest(builder, of.op->getLoc(), parts, multiply, round);
  setLabel(nest, of.op->getName().stripDialect());
  return nest.getResult(0);
}

/// y[n, b, p, c] = sum over k of x[n, b, p s + k d, c] w[b, k, c], where x has
/// its padding. The gradient of x is such a sum, too: of y's gradient with s -
/// 1 zeros between its elements, by the window from its end to its beginning.
Value slide(OpBuilder &builder, const Depthwise &of, Value input, int64_t block,
            bool isGradient) {
  auto plain = cast<RankedTensorType>(of.op->getResult(0).getType());
  auto type = plain.clone(blockedShape(plain.getShape(), block));
  Domain domain(builder.getContext());
  Exprs position = domain.parallel(type.getShape()),
        tap = domain.reduced(of.window), from(position);
  for (unsigned d = 0; d < 2; ++d) {
    AffineExpr &at = from[2 + d];
    at = isGradient ? at + (of.window[d] - 1 - tap[d]) * of.dilations[d]
                    : at * of.strides[d] + tap[d] * of.dilations[d];
  }
  Value weights = weightsInBlocks(builder, of.op->getLoc(), of.weights, block);
  NestParts parts = domain.reducing(Reduction::sum);
  parts.mapReads = {{input, domain.map(from), {}},
                    {weights,
                     domain.map({position[1], domain.constant(0), tap[0],
                                 tap[1], position[4]}),
                     {}}};
  parts.outputMaps = {domain.thenMap(position)};
  return sumOfProducts(builder, of, parts, type);
}

/// dw[b c, k] = sum over n, p of x[n, b, p s + k d, c] dy[n, b, p, c]
Value weightsGradient(OpBuilder &builder, const Depthwise &of, Value input,
                      Value gradient, int64_t block) {
  ArrayRef<int64_t> shape = shapeOf(gradient);
  Domain domain(builder.getContext());
  AffineExpr b = domain.parallel(shape[1]);
  Exprs k = domain.parallel(of.window);
  AffineExpr c = domain.parallel(block), n = domain.reduced(shape[0]);
  Exprs p = domain.reduced(shape.slice(2, 2)), from;
  for (unsigned d = 0; d < 2; ++d)
    from.push_back(p[d] * of.strides[d] + k[d] * of.dilations[d]);
  NestParts parts = domain.reducing(Reduction::sum);
  parts.mapReads = {{input, domain.map({n, b, from[0], from[1], c}), {}},
                    {gradient, domain.map({n, b, p[0], p[1], c}), {}}};
  parts.outputMaps = {
      domain.thenMap({b * block + c, domain.constant(0), k[0], k[1]})};
  return sumOfProducts(builder, of, parts,
                       cast<RankedTensorType>(of.op->getResult(0).getType()));
}

/// The gradient of a result as `slide` reads it for that of the input.
Value spreadGradient(OpBuilder &builder, const Depthwise &of, Value gradient) {
  ArrayRef<int64_t> input = shapeOf(of.op->getResult(0)).drop_front(2);
  SmallVector<int64_t> low, high;
  for (unsigned d = 0; d < 2; ++d) {
    int64_t reach = reachOf(of, d);
    low.push_back(reach - of.padsBegin[d]);
    high.push_back(input[d] + reach - low[d] - 1 -
                   (shapeOf(gradient)[2 + d] - 1) * of.strides[d]);
  }
  return padded(builder, of.op->getLoc(), gradient, low, high, of.strides);
}

} // namespace

Value onBlocks(OpBuilder &builder, const Depthwise &of, ValueRange blocks,
               int64_t block) {
  if (isa<ConvolutionBackwardDataOp>(of.op))
    return slide(builder, of, spreadGradient(builder, of, blocks[0]), block,
                 /*isGradient=*/true);
  Value input = padded(builder, of.op->getLoc(), blocks[0], of.padsBegin,
                       of.padsEnd, {1, 1});
  return of.givesWeights()
             ? weightsGradient(builder, of, input, blocks[1], block)
             : slide(builder, of, input, block, /*isGradient=*/false);
}

} // namespace gradus
