// Lowers gradients of a convolution whose output a max pool reads to kernels
// that visit the elements that won: the pool's gradient is zero at all others.
//
// Each such element adds a multiple of a window to another: of the input to the
// weights' gradient, or of the weights to the input's gradient. Channels come
// last, in whole vectors. Sums have the same order on any number of threads.

#include "codegen/kernels/kernel_writer.h"
#include "codegen/kernels/lower_to_kernels.h"
#include "codegen/kernels/pooled_sizes.h"
#include "codegen/nests/lower_to_nests.h"

namespace gradus {
using namespace mlir;
using plan::KernelOp;
using plan::LaunchOp;

namespace {

/// The pool's gradient that is that of a convolution's output, if it is known
/// where its elements won.
MaxPoolBackwardOp pooled(Value gradient) {
  auto op = gradient.getDefiningOp<MaxPoolBackwardOp>();
  return op && poolOf<MaxPoolOp>(op) ? op : MaxPoolBackwardOp();
}

/// Writes what both kernels have: operands 1 and 2 are the pooled gradient and
/// the positions in their windows of the elements that won.
class PooledKernel : public KernelWriter {
protected:
  using Indices = SmallVector<AffineExpr>;

  PooledKernel(MLIRContext *context, const PooledSizes &of, TypeRange operands,
               Type result, int64_t items)
      : KernelWriter(context, operands, result, items), sizes(of),
        image(scratch({sizes.positions(), sizes.lanes},
                      Float32Type::get(context))),
        positions(scratch({sizes.outputs, sizes.winners()},
                          IntegerType::get(context, 32))) {}

  /// The position in the image of an index in it.
  AffineExpr position(ArrayRef<AffineExpr> index) {
    AffineExpr sum = constant(0);
    for (auto [d, i] : llvm::enumerate(index))
      sum = sum + i * sizes.stride(d);
    return sum;
  }
  /// An element of the image for the element x0, x1 .. of a sample, a channel
  /// first.
  At inImage() {
    Indices index;
    for (int64_t d = 0; d < sizes.rank(); ++d)
      index.push_back(x(1 + d) + sizes.window.padsBegin[d]);
    return {image, {position(index), x(0)}};
  }
  /// The same in a tensor.
  At inTensor(Value tensor, AffineExpr sample) {
    Indices index = {sample};
    for (int64_t d = 0; d <= sizes.rank(); ++d)
      index.push_back(x(d));
    return {tensor, index};
  }
  SmallVector<int64_t> ofSample() const {
    SmallVector<int64_t> extents = {sizes.channels};
    llvm::append_range(extents, sizes.input);
    return extents;
  }
  void copy(ArrayRef<int64_t> extents, const At &from, const At &to) {
    nest({SmallVector<int64_t>(extents)}, {}, from, to,
         [](const Scalars &, ValueRange values) {
           return SmallVector<Value>(values);
         });
  }
  void clearImage() {
    fill({sizes.positions(), sizes.lanes}, {image, {x(0), x(1)}}, 0);
  }

  void findPositions(AffineExpr sample);
  /// The place of a window's elements: that of tap `tap`.
  using Place =
      llvm::function_ref<At(ArrayRef<AffineExpr> tap, AffineExpr channel)>;
  using ForWinner = llvm::function_ref<void(AffineExpr output, const At &value,
                                            AffineExpr position)>;
  void forWinners(AffineExpr sample, ForWinner body);
  void forWinners(AffineExpr sample, AffineExpr output, Indices index,
                  AffineExpr number, ForWinner body);
  void addWindow(const At &factor, Place from, Place to);
  At window(AffineExpr first, ArrayRef<AffineExpr> tap, AffineExpr channel) {
    Indices index;
    for (auto [d, i] : llvm::enumerate(tap))
      index.push_back(i * sizes.window.dilations[d]);
    return {image, {first + position(index), channel}};
  }

  const PooledSizes &sizes;
  Value image, positions;
};

/// Writes the position in the image of the first tap of the window of each
/// element that won. An index that named no element would lead out of the
/// image, as it might if the pool's input were computed twice with other
/// roundings.
void PooledKernel::findPositions(AffineExpr sample) {
  SmallVector<int64_t> extents = {sizes.outputs};
  llvm::append_range(extents, sizes.won);
  Indices from = {sample, x(0)};
  AffineExpr first = constant(0), number = constant(0);
  SmallVector<int64_t> steps;
  for (int64_t d = 0; d < sizes.rank(); ++d) {
    int64_t step = sizes.window.strides[d] * sizes.stride(d);
    from.push_back(x(1 + d));
    number = number * sizes.won[d] + x(1 + d);
    first = first + x(1 + d) * (sizes.pool.strides[d] * step);
    steps.push_back(sizes.pool.dilations[d] * step);
  }
  nest({extents}, {}, At{operand(2), from}, At{positions, {x(0), number}},
       [&](const Scalars &s, ValueRange values) {
         Type type = values[0].getType();
         auto literal = [&](int64_t number) {
           return splat(s.builder, s.loc, type, number);
         };
         Value tap = s.make<arith::MinUIOp>(
                   values[0], literal(gradus::product(sizes.pool.size) - 1)),
               sum = arith::TruncIOp::create(s.builder, s.loc, type,
                                             s.index(first));
         for (int64_t d = sizes.rank() - 1; d >= 0; --d) {
           Value size = literal(sizes.pool.size[d]),
                 along = d ? s.make<arith::RemUIOp>(tap, size) : tap;
           sum = s.add(sum, s.multiply(along, literal(steps[d])));
           tap = d ? s.make<arith::DivUIOp>(tap, size) : tap;
         }
         return SmallVector<Value>{sum};
       });
}

/// Calls `body` for each element that won: with the output, its gradient and
/// its position.
void PooledKernel::forWinners(AffineExpr sample, ForWinner body) {
  loop(sizes.outputs, {}, {}, [&](AffineExpr output) {
    forWinners(sample, output, {}, constant(0), body);
  });
}

void PooledKernel::forWinners(AffineExpr sample, AffineExpr output,
                              Indices index, AffineExpr number,
                              ForWinner body) {
  if (int64_t d = index.size(); d < sizes.rank())
    return loop(sizes.won[d], {}, {}, [&](AffineExpr along) {
      Indices next = index;
      next.push_back(along);
      forWinners(sample, output, next, number * sizes.won[d] + along, body);
    });
  At gradient{operand(1), {sample, output}};
  gradient.place.append(index);
  found(sizes.positions() - sizes.reach(), {positions, {output, number}},
        [&](AffineExpr position) { body(output, gradient, position); });
}

/// Adds `factor` times one window to another. The last dimensions of a window
/// are written out, as many as registers can hold; the others are loops.
void PooledKernel::addWindow(const At &factor, Place from, Place to) {
  constexpr int64_t mostVectors = 25;
  ArrayRef<int64_t> window = sizes.window.size;
  unsigned loops = window.size();
  int64_t written = 1;
  while (loops > 0 && written * window[loops - 1] <= mostVectors)
    written *= window[--loops];
  SmallVector<int64_t> extents(window.take_front(loops));
  extents.push_back(sizes.lanes);
  SmallVector<At> reads = {factor}, outs;
  for (int64_t number = 0; number < written; ++number) {
    Indices tap(window.size());
    int64_t rest = number;
    for (unsigned d = window.size(); d-- > 0;)
      if (d < loops)
        tap[d] = x(d);
      else
        tap[d] = constant(rest % window[d]), rest /= window[d];
    outs.push_back(to(tap, x(loops)));
    reads.append({outs.back(), from(tap, x(loops))});
  }
  nest({extents}, {}, reads, outs, [&](const Scalars &s, ValueRange values) {
    SmallVector<Value> sums;
    for (size_t i = 1; i < values.size(); i += 2)
      sums.push_back(s.add(values[i], s.multiply(values[0], values[i + 1])));
    return sums;
  });
}

//===-- the gradient of weights -------------------------------------------===//

/// The samples of an item: at most eight items, so that their sums are few.
int64_t samplesOfItem(const PooledSizes &sizes) {
  return llvm::divideCeil(sizes.samples, 8);
}

/// Operand 0 is the convolution's input, the result the gradient of each item.
class WeightsKernel : public PooledKernel {
public:
  WeightsKernel(MLIRContext *context, const PooledSizes &sizes,
                TypeRange operands, RankedTensorType result)
      : PooledKernel(context, sizes, operands, result, result.getDimSize(0)) {}

  KernelOp kernel() {
    clearImage();
    SmallVector<int64_t> extents = {sizes.outputs};
    llvm::append_range(extents, sizes.window.size);
    extents.push_back(sizes.lanes);
    Indices all = {item()};
    for (unsigned d = 0; d < extents.size(); ++d)
      all.push_back(x(d));
    fill(extents, {result(0), all}, 0);
    int64_t count = samplesOfItem(sizes);
    AffineExpr first = item() * count, end;
    if (sizes.samples % count)
      end = sizes.samples - first;
    loop(count, {}, end, [&](AffineExpr sample) { add(first + sample); });
    return finished();
  }

private:
  void add(AffineExpr sample) {
    copy(ofSample(), inTensor(operand(0), sample), inImage());
    findPositions(sample);
    forWinners(sample,
               [&](AffineExpr output, const At &value, AffineExpr position) {
                 addWindow(
                     value,
                     [&](ArrayRef<AffineExpr> tap, AffineExpr channel) {
                       return window(position, tap, channel);
                     },
                     [&](ArrayRef<AffineExpr> tap, AffineExpr channel) {
                       At to{result(0), {item(), output}};
                       to.place.append(tap.begin(), tap.end());
                       to.place.push_back(channel);
                       return to;
                     });
               });
  }
};

/// The sum over items, with the channels before the taps.
Value sumOfItems(OpBuilder &builder, Location location, Value parts,
                 RankedTensorType type) {
  Domain domain(builder.getContext());
  SmallVector<AffineExpr> at = domain.parallel(type.getShape()),
                          from = {domain.reduced(shapeOf(parts)[0]), at[0]};
  from.append(at.begin() + 2, at.end());
  from.push_back(at[1]);
  return sumNest(builder, location, domain, at, type,
                 {parts, domain.map(from), {}}, "sum");
}

//===-- the gradient of the input -----------------------------------------===//

/// Operand 0 has the weights with the channels last; an item is a sample.
class DataKernel : public PooledKernel {
public:
  DataKernel(MLIRContext *context, const PooledSizes &sizes, TypeRange operands,
             Type result)
      : PooledKernel(context, sizes, operands, result, sizes.samples) {}

  KernelOp kernel() {
    clearImage();
    findPositions(item());
    forWinners(item(),
               [&](AffineExpr output, const At &value, AffineExpr position) {
                 addWindow(
                     value,
                     [&](ArrayRef<AffineExpr> tap, AffineExpr channel) {
                       At from{operand(0), {output}};
                       from.place.append(tap.begin(), tap.end());
                       from.place.push_back(channel);
                       return from;
                     },
                     [&](ArrayRef<AffineExpr> tap, AffineExpr channel) {
                       return window(position, tap, channel);
                     });
               });
    copy(ofSample(), inImage(), inTensor(result(0), item()));
    return finished();
  }
};

//===-- launches ----------------------------------------------------------===//

Value launch(OpBuilder &builder, Operation *op, KernelTable &kernels,
             KernelOp kernel, ValueRange operands, Type result,
             const PooledSizes &sizes) {
  StringRef label = op->getName().stripDialect();
  int64_t items = kernel.getItems();
  return LaunchOp::create(builder, op->getLoc(), result,
                          kernels.add(kernel, label).getSymName(), operands,
                          ArrayRef<int64_t>{items}, /*grain=*/1,
                          ArrayRef<int64_t>{-1}, sizes.flops(),
                          builder.getStringAttr(label))
      .getResult(0);
}

/// Whether the sizes, and the types of a gradient of `op`, are for a kernel.
template <typename Op>
bool isPooled(Op op, const PooledSizes &sizes, Value other) {
  auto isF32 = [](Value value) {
    return tensorType(value).getElementType().isF32();
  };
  return op.getGroups() == 1 && isF32(op.getResult()) && isF32(other) &&
         isF32(op.getGradient()) && sizes.fits() && sizes.pays();
}

/// Holds what a gradient of a convolution reads beside that of the output, and
/// the shapes of the weights and of the input.
struct Convolved {
  Value other;
  ArrayRef<int64_t> weight, input;
};

Convolved convolved(ConvolutionBackwardWeightsOp op) {
  return {op.getInput(), op.getType().getShape(), shapeOf(op.getInput())};
}

Convolved convolved(ConvolutionBackwardDataOp op) {
  return {op.getWeight(), shapeOf(op.getWeight()), op.getType().getShape()};
}

/// Launches the kernel of the gradient: `operands` begin with what it reads
/// beside the pool's.
Value gradient(OpBuilder &builder, ConvolutionBackwardWeightsOp op,
               const PooledSizes &sizes, ArrayRef<Value> operands,
               KernelTable &kernels) {
  SmallVector<int64_t> shape = {
      int64_t(llvm::divideCeil(sizes.samples, samplesOfItem(sizes))),
      sizes.outputs};
  llvm::append_range(shape, sizes.window.size);
  shape.push_back(sizes.lanes);
  RankedTensorType parts = op.getType().clone(shape);
  KernelOp kernel =
      WeightsKernel(op.getContext(), sizes, ValueRange(operands), parts)
          .kernel();
  Value made = launch(builder, op, kernels, kernel, operands, parts, sizes);
  return sumOfItems(builder, op.getLoc(), made, op.getType());
}

Value gradient(OpBuilder &builder, ConvolutionBackwardDataOp op,
               const PooledSizes &sizes, ArrayRef<Value> operands,
               KernelTable &kernels) {
  SmallVector<Value> own(operands);
  own[0] = copyWithLast(builder, op.getLoc(), own[0], /*dim=*/1, sizes.lanes);
  KernelOp kernel =
      DataKernel(op.getContext(), sizes, ValueRange(own), op.getType())
          .kernel();
  return launch(builder, op, kernels, kernel, own, op.getType(), sizes);
}

template <typename Op>
SmallVector<Value> lower(OpBuilder &builder, Op op, KernelTable &kernels) {
  MaxPoolBackwardOp pool = pooled(op.getGradient());
  if (!pool)
    return {};
  Convolved of = convolved(op);
  PooledSizes sizes(windowOf(op, of.weight.drop_front(2)), pool, of.input);
  if (!isPooled(op, sizes, of.other))
    return {};
  return {gradient(builder, op, sizes,
                   {of.other, pool.getGradient(), pool.getIndices()}, kernels)};
}

} // namespace

SmallVector<Value> lowerPooled(OpBuilder &builder, Operation *op,
                               KernelTable &kernels) {
  if (auto weights = dyn_cast<ConvolutionBackwardWeightsOp>(op))
    return lower(builder, weights, kernels);
  return lower(builder, cast<ConvolutionBackwardDataOp>(op), kernels);
}

} // namespace gradus
