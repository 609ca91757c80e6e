// Attention as kernels of its own. An item is a head; its queries are taken in
// blocks, one after the other, so that the scores of a block stay in the cache:
// they are the only scores there are. A block under a causal mask meets the
// keys up to its own last query only.
//
// The products of a block are nests like any others. Keys and values are turned
// once for each head, because a product whose both operands run along the
// summed dimension takes 1.5 times as long.

#include "codegen/lower_attention.h"

#include "ir/attention_sizes.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

namespace gradus {
using namespace mlir;
using plan::KernelOp;
using plan::LaunchOp;

namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

/// A block of queries and the keys it meets.
struct Queries {
  int64_t start, rows, keys;
};

SmallVector<Queries> blocksOf(const AttentionSizes &sizes, bool causal) {
  int64_t rows = llvm::divideCeil(sizes.queries, sizes.blocks(causal));
  SmallVector<Queries> blocks;
  for (int64_t start = 0; start < sizes.queries; start += rows) {
    int64_t end = std::min(start + rows, sizes.queries);
    // The last one meets all, so that each key has a gradient.
    bool meetsAll = !causal || end == sizes.queries;
    blocks.push_back({start, end - start,
                      meetsAll ? sizes.keys : std::min(end, sizes.keys)});
  }
  return blocks;
}

/// Scalar code in a nest.
struct Scalars {
  OpBuilder &builder;
  Location loc;

  template <typename Op> Value make(ValueRange values) const {
    return Op::create(builder, loc, values[0].getType(), values);
  }
  Value add(Value a, Value b) const { return make<arith::AddFOp>({a, b}); }
  Value sub(Value a, Value b) const { return make<arith::SubFOp>({a, b}); }
  Value mul(Value a, Value b) const { return make<arith::MulFOp>({a, b}); }
  Value div(Value a, Value b) const { return make<arith::DivFOp>({a, b}); }
  Value exp(Value a) const { return make<math::ExpOp>(a); }
  Value log(Value a) const { return make<math::LogOp>(a); }
  Value select(Value c, Value a, Value b) const {
    return arith::SelectOp::create(builder, loc, c, a, b);
  }
  Value number(double value, Value like) const {
    return splat(builder, loc, like.getType(), value);
  }
};

using Code = llvm::function_ref<Value(const Scalars &, ValueRange)>;
using Codes =
    llvm::function_ref<SmallVector<Value>(const Scalars &, ValueRange)>;

/// Where a nest reads or writes: by its dimensions, the item first.
struct At {
  Value buffer;
  SmallVector<AffineExpr> place;
};

/// Writes the nests of one kernel.
class AttentionKernel {
public:
  template <typename Op>
  AttentionKernel(Op op, ValueRange operands, TypeRange results)
      : sizes_(op.getQuery(), op.getValue()), causal_(op.getCausal()),
        scale_(op.getScale().convertToDouble()),
        element_(tensorType(op.getQuery()).getElementType()),
        builder_(op.getContext()), loc_(builder_.getUnknownLoc()) {
    SmallVector<Type> types;
    llvm::append_range(types, operands.getTypes());
    llvm::append_range(types, results);
    for (Type &type : types) {
      auto tensor = cast<RankedTensorType>(type);
      type = MemRefType::get(tensor.getShape(), tensor.getElementType());
    }
    kernel_ = KernelOp::create(
        builder_, loc_, "kernel", builder_.getFunctionType(types, {}),
        operands.size(), plan::Split::rows, sizes_.batch * sizes_.heads,
        ArrayAttr(), ArrayAttr(), StringAttr());
    Block *body = builder_.createBlock(&kernel_.getBody());
    body->addArguments(types, SmallVector<Location>(types.size(), loc_));
    if (op.getMask())
      mask_ = argument(operands.size() - 1);
  }

  KernelOp forward();
  KernelOp backward();

private:
  Value argument(unsigned number) {
    return kernel_.getBody().getArgument(number);
  }
  Value scratch(ArrayRef<int64_t> shape) {
    return plan::ScratchOp::create(builder_, loc_,
                                   MemRefType::get(shape, element_));
  }
  AffineExpr d(unsigned number) {
    return getAffineDimExpr(number, builder_.getContext());
  }
  NestRead read(const At &at, unsigned dims) {
    return {at.buffer,
            AffineMap::get(dims, 0, at.place, builder_.getContext()),
            {}};
  }

  /// A nest over item, rows and, if there are any, columns, which combines
  /// `map` over `reduced` points more; all there is of them.
  struct Loops {
    SmallVector<int64_t> parallel;
    int64_t reduced = 0;
    Reduction combine = Reduction::sum;
  };
  void nest(const Loops &loops, ArrayRef<At> mapReads, ArrayRef<At> thenReads,
            ArrayRef<At> outs, Codes then);
  /// d1 by d2: the sum over d3 of the product of what is read.
  void product(int64_t rows, int64_t columns, int64_t inner, At a, At b,
               ArrayRef<At> thenReads, At out, Code then);

  Value turned(Value rows, int64_t width);
  At maskAt(const Queries &block);
  Value masked(const Scalars &s, Value product, Value mask,
               const Queries &block);
  void normalize(const Queries &block, Value scores, ArrayRef<Value> rows,
                 Value logsumexp);
  void addUp(const Queries &block, Value weights, Value rows, int64_t width,
             Value out, bool isFirst);

  KernelOp finished() {
    plan::EndOp::create(builder_, loc_);
    return kernel_;
  }

  AttentionSizes sizes_;
  bool causal_;
  double scale_;
  Type element_;
  OpBuilder builder_;
  Location loc_;
  KernelOp kernel_;
  Value mask_;
};

//===-- nests -------------------------------------------------------------===//

void AttentionKernel::nest(const Loops &loops, ArrayRef<At> mapReads,
                           ArrayRef<At> thenReads, ArrayRef<At> outs,
                           Codes then) {
  NestParts parts;
  parts.parallel = {sizes_.batch * sizes_.heads};
  llvm::append_range(parts.parallel, loops.parallel);
  unsigned dims = parts.parallel.size();
  if (!mapReads.empty()) {
    parts.reduced = {loops.reduced};
    parts.combine = {loops.combine};
  }
  for (const At &at : mapReads)
    parts.mapReads.push_back(read(at, dims + 1));
  for (const At &at : thenReads)
    parts.thenReads.push_back(read(at, dims));
  for (const At &at : outs) {
    parts.outs.push_back(at.buffer);
    parts.outputMaps.push_back(read(at, dims).map);
  }
  auto map = [](OpBuilder &inside, Location loc, ValueRange values) {
    Value result = values[0];
    for (Value factor : values.drop_front())
      result = arith::MulFOp::create(inside, loc, result, factor);
    return SmallVector<Value>{result};
  };
  auto code = [&](OpBuilder &inside, Location loc, ValueRange values) {
    return then({inside, loc}, values);
  };
  buildNest(builder_, loc_, parts, map, code);
}

void AttentionKernel::product(int64_t rows, int64_t columns, int64_t inner,
                              At a, At b, ArrayRef<At> thenReads, At out,
                              Code then) {
  nest({{rows, columns}, inner}, {a, b}, thenReads, out,
       [&](const Scalars &s, ValueRange values) {
         return SmallVector<Value>{then(s, values)};
       });
}

/// [width, keys] of [keys, width]. Its lines do not start a power of two apart,
/// where they would share few places of the cache.
Value AttentionKernel::turned(Value rows, int64_t width) {
  Value result = scratch({width, sizes_.keys + 16});
  nest({{width, sizes_.keys}}, {}, At{rows, {d(0), d(2), d(1)}},
       At{result, {d(1), d(2)}}, [](const Scalars &, ValueRange values) {
         return SmallVector<Value>{values[0]};
       });
  return result;
}

//===-- scores ------------------------------------------------------------===//

/// Where the mask says something on query d1 of a block and key d2.
At AttentionKernel::maskAt(const Queries &block) {
  AffineExpr full[] = {d(0).floorDiv(sizes_.heads), d(0) % sizes_.heads,
                       d(1) + block.start, d(2)};
  At at{mask_, {}};
  for (auto [size, place] : llvm::zip(shapeOf(mask_), full))
    at.place.push_back(size == 1 ? builder_.getAffineConstantExpr(0) : place);
  return at;
}

/// The score of a product of query and key.
Value AttentionKernel::masked(const Scalars &s, Value product, Value mask,
                              const Queries &block) {
  Value score = s.mul(product, s.number(scale_, product)),
        none = s.number(kNone, product);
  if (mask && isa<FloatType>(mask.getType())) {
    score = s.add(score, mask);
    Value isSeen = arith::CmpFOp::create(
        s.builder, s.loc, arith::CmpFPredicate::UNE, score, none);
    Value bounded =
        s.make<arith::MaximumFOp>({score, s.number(kLeastScore, score)});
    score = s.select(isSeen, bounded, score);
  } else if (mask)
    score = s.select(mask, score, none);
  if (!causal_)
    return score;
  Value start = splat(s.builder, s.loc, s.builder.getI64Type(), block.start);
  Value query = arith::AddIOp::create(s.builder, s.loc,
                                      indexOf(s.builder, s.loc, 1), start);
  Value seen =
      arith::CmpIOp::create(s.builder, s.loc, arith::CmpIPredicate::sle,
                            indexOf(s.builder, s.loc, 2), query);
  return s.select(seen, score, none);
}

//===-- forward -----------------------------------------------------------===//

/// Makes exp(score - maximum) of the scores. `rows` are those for the maximum,
/// for 1 or, of a query that sees no key, 0, and for 1 / sum.
void AttentionKernel::normalize(const Queries &block, Value scores,
                                ArrayRef<Value> rows, Value logsumexp) {
  SmallVector<At> atRow;
  for (Value row : rows)
    atRow.push_back({row, {d(1)}});
  At every{scores, {d(1), d(2)}};
  nest({{block.rows}, block.keys, Reduction::max}, every, {},
       {atRow[0], atRow[1]}, [](const Scalars &s, ValueRange values) {
         Value largest = values[0], zero = s.number(0, largest);
         Value isAlone =
             arith::CmpFOp::create(s.builder, s.loc, arith::CmpFPredicate::OEQ,
                                   largest, s.number(kNone, largest));
         return SmallVector<Value>{
             s.select(isAlone, zero, largest),
             s.select(isAlone, zero, s.number(1, largest))};
       });
  nest({{block.rows, block.keys}}, {}, {every, atRow[0]}, every,
       [](const Scalars &s, ValueRange values) {
         return SmallVector<Value>{s.exp(s.sub(values[0], values[1]))};
       });
  nest({{block.rows}, block.keys}, every, {atRow[0], atRow[1]},
       {atRow[2], At{logsumexp, {d(0), d(1) + block.start}}},
       [](const Scalars &s, ValueRange values) {
         Value sum = values[0], largest = values[1], kept = values[2];
         Value missing = s.sub(s.number(1, kept), kept);
         Value total = s.add(sum, missing);
         return SmallVector<Value>{s.div(kept, total),
                                   s.add(largest, s.log(total))};
       });
}

/// Arguments: query, key, value, (mask,) result, logsumexp.
KernelOp AttentionKernel::forward() {
  Value query = argument(0), value = argument(2),
        result = argument(mask_ ? 4 : 3), logsumexp = argument(mask_ ? 5 : 4);
  SmallVector<Queries> blocks = blocksOf(sizes_, causal_);
  Value turnedKey = turned(argument(1), sizes_.width),
        scores = scratch({blocks[0].rows, sizes_.keys});
  SmallVector<Value> rows;
  for (int i = 0; i < 3; ++i)
    rows.push_back(scratch(blocks[0].rows));
  for (const Queries &block : blocks) {
    At queries{query, {d(0), d(1) + block.start, d(3)}};
    product(block.rows, block.keys, sizes_.width, queries,
            {turnedKey, {d(3), d(2)}},
            mask_ ? SmallVector<At>{maskAt(block)} : SmallVector<At>(),
            {scores, {d(1), d(2)}}, [&](const Scalars &s, ValueRange values) {
              return masked(s, values[0], mask_ ? values[1] : Value(), block);
            });
    normalize(block, scores, rows, logsumexp);
    product(block.rows, sizes_.depth, block.keys, {scores, {d(1), d(3)}},
            {value, {d(0), d(3), d(2)}}, At{rows[2], {d(1)}},
            {result, {d(0), d(1) + block.start, d(2)}},
            [](const Scalars &s, ValueRange values) {
              return s.mul(values[0], values[1]);
            });
  }
  return finished();
}

//===-- backward ----------------------------------------------------------===//

/// Adds up, for each key, a block's rows by their weights.
void AttentionKernel::addUp(const Queries &block, Value weights, Value rows,
                            int64_t width, Value out, bool isFirst) {
  At sum{out, {d(0), d(1), d(2)}};
  product(block.keys, width, block.rows, {weights, {d(3), d(1)}},
          {rows, {d(0), d(3) + block.start, d(2)}},
          isFirst ? SmallVector<At>() : SmallVector<At>{sum}, sum,
          [](const Scalars &s, ValueRange values) {
            return values.size() > 1 ? s.add(values[0], values[1]) : values[0];
          });
}

/// Arguments: query, key, value, logsumexp, gradient, delta, (mask,) and the
/// gradients of query, key and value. The last block comes first: it meets all
/// keys, and what others add to their gradients is there.
KernelOp AttentionKernel::backward() {
  Value query = argument(0), key = argument(1), logsumexp = argument(3),
        gradient = argument(4), delta = argument(5);
  unsigned first = mask_ ? 7 : 6;
  SmallVector<Queries> blocks = blocksOf(sizes_, causal_);
  Value turnedKey = turned(key, sizes_.width),
        turnedValue = turned(argument(2), sizes_.depth),
        weights = scratch({blocks[0].rows, sizes_.keys});
  At every{weights, {d(1), d(2)}};
  for (const Queries &block : llvm::reverse(blocks)) {
    bool isFirst = block.start == blocks.back().start;
    AffineExpr row = d(1) + block.start;
    SmallVector<At> reads = {{logsumexp, {d(0), row}}};
    if (mask_)
      reads.push_back(maskAt(block));
    product(block.rows, block.keys, sizes_.width, {query, {d(0), row, d(3)}},
            {turnedKey, {d(3), d(2)}}, reads, every,
            [&](const Scalars &s, ValueRange values) {
              Value mask = mask_ ? values[2] : Value();
              return s.exp(s.sub(masked(s, values[0], mask, block), values[1]));
            });
    addUp(block, weights, gradient, sizes_.depth, argument(first + 2), isFirst);
    product(block.rows, block.keys, sizes_.depth, {gradient, {d(0), row, d(3)}},
            {turnedValue, {d(3), d(2)}}, {every, At{delta, {d(0), row}}}, every,
            [&](const Scalars &s, ValueRange values) {
              Value slope = s.mul(values[1], s.sub(values[0], values[2]));
              return s.mul(slope, s.number(scale_, slope));
            });
    product(block.rows, sizes_.width, block.keys, {weights, {d(1), d(3)}},
            {key, {d(0), d(3), d(2)}}, {}, {argument(first), {d(0), row, d(2)}},
            [](const Scalars &, ValueRange values) { return values[0]; });
    addUp(block, weights, query, sizes_.width, argument(first + 1), isFirst);
  }
  return finished();
}

//===-- launches ----------------------------------------------------------===//

/// Heads in one dimension: other views of the same memory.
template <typename Op> SmallVector<Value> byHead(OpBuilder &builder, Op op) {
  SmallVector<Value> operands;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    SmallVector<int64_t> shape(shapeOf(operand));
    bool isMask = op.getMask() && number + 1 == op->getNumOperands();
    if (!isMask) {
      shape[1] *= shape[0];
      shape.erase(shape.begin());
    }
    operands.push_back(reshape(builder, op.getLoc(), operand, shape));
  }
  return operands;
}

template <typename Op>
SmallVector<Value> launch(OpBuilder &builder, Op op, KernelTable &kernels,
                          StringRef label, int64_t products) {
  AttentionSizes sizes(op.getQuery(), op.getValue());
  if (sizes.blocks(op.getCausal()) == 0)
    return {};
  SmallVector<Value> operands = byHead(builder, op);
  SmallVector<Type> types;
  for (Type type : op->getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    shape[1] *= shape[0];
    types.push_back(tensor.clone(ArrayRef(shape).drop_front()));
  }
  AttentionKernel code(op, operands, types);
  KernelOp kernel = kernels.add(
      isa<AttentionOp>(*op) ? code.forward() : code.backward(), label);
  int64_t flops = 0;
  for (const Queries &block : blocksOf(sizes, op.getCausal()))
    flops += sizes.batch * sizes.heads * block.rows * block.keys * products *
             (sizes.width + sizes.depth);
  auto made =
      LaunchOp::create(builder, op.getLoc(), types, kernel.getSymName(),
                       operands, ArrayRef<int64_t>{sizes.batch * sizes.heads},
                       /*grain=*/1, SmallVector<int64_t>(types.size(), -1),
                       flops, builder.getStringAttr(label));
  SmallVector<Value> results;
  for (auto [result, type] : llvm::zip(made.getResults(), op->getResultTypes()))
    results.push_back(reshape(builder, op.getLoc(), result,
                              cast<RankedTensorType>(type).getShape()));
  return results;
}

} // namespace

SmallVector<Value> lowerAttention(OpBuilder &builder, Operation *op,
                                  KernelTable &kernels) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([&](AttentionOp forward) {
        return launch(builder, forward, kernels, "attention", 2);
      })
      .Case([&](AttentionBackwardOp backward) {
        return launch(builder, backward, kernels, "attention_backward", 5);
      })
      .Default(SmallVector<Value>());
}

} // namespace gradus
