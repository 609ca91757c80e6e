// Writes kernels of nests, loops and scratch for ops that are kernels from the
// beginning: the nests, the loops around them, and the scalar code inside.
#pragma once

#include "codegen/plan/nest.h"
#include "ir/arithmetic.h"

namespace gradus {

/// Scalar code in a nest.
struct Scalars : Arithmetic {
  using Arithmetic::Arithmetic;

  mlir::Value index(mlir::AffineExpr position) const {
    return emitAffine(builder, loc, position);
  }

  /// Two bf16 as one element of pairs, of which the first has the lower half.
  mlir::Value pair(mlir::Value first, mlir::Value second) const {
    mlir::Type half = builder.getI16Type(), whole = builder.getI32Type();
    auto bits = [&](mlir::Value value) {
      return make<mlir::arith::ExtUIOp>(
          whole, make<mlir::arith::BitcastOp>(half, value));
    };
    mlir::Value low = bits(first), high = bits(second);
    return make<mlir::arith::OrIOp>(
        low, make<mlir::arith::ShLIOp>(high, number(16, high)));
  }
};

using Code = llvm::function_ref<mlir::Value(const Scalars &, mlir::ValueRange)>;
using Codes = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    const Scalars &, mlir::ValueRange)>;

/// A buffer and the index at which a nest reads or writes it. A read gives 0
/// unless all of `inside`, expressions as those of `place`, are 0 or more.
struct At {
  mlir::Value buffer;
  llvm::SmallVector<mlir::AffineExpr> place;
  llvm::SmallVector<mlir::AffineExpr> inside = {};
};

/// A range of indices; `start` depends on the item and the loops around.
struct Span {
  mlir::AffineExpr start;
  int64_t size;
};

/// Writes the nests of a kernel split by rows, one item after another.
class KernelWriter {
public:
  KernelWriter(mlir::MLIRContext *context, mlir::TypeRange operands,
               mlir::TypeRange results, int64_t items)
      : builder_(context), loc_(builder_.getUnknownLoc()),
        inputs_(operands.size()), items_(items) {
    llvm::SmallVector<mlir::Type> types(operands);
    llvm::append_range(types, results);
    for (mlir::Type &type : types) {
      auto tensor = llvm::cast<mlir::RankedTensorType>(type);
      type = mlir::MemRefType::get(tensor.getShape(), tensor.getElementType());
    }
    kernel_ = plan::KernelOp::create(
        builder_, loc_, "kernel", builder_.getFunctionType(types, {}), inputs_,
        plan::Split::rows, items, mlir::ArrayAttr(), mlir::ArrayAttr(),
        mlir::StringAttr());
    mlir::Block *body = builder_.createBlock(&kernel_.getBody());
    body->addArguments(types,
                       llvm::SmallVector<mlir::Location>(types.size(), loc_));
  }

protected:
  mlir::Value operand(unsigned number) {
    return kernel_.getBody().getArgument(number);
  }
  mlir::Value result(unsigned number) { return operand(inputs_ + number); }

  mlir::Value scratch(llvm::ArrayRef<int64_t> shape, mlir::Type element) {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(&kernel_.getBody().front());
    return plan::ScratchOp::create(builder_, loc_,
                                   mlir::MemRefType::get(shape, element));
  }

  /// A buffer of bf16, scratch or an argument, seen as pairs of neighbours.
  mlir::Value pairs(mlir::Value buffer) {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointAfterValue(buffer);
    auto type = llvm::cast<mlir::MemRefType>(buffer.getType());
    llvm::SmallVector<int64_t> shape(type.getShape());
    shape.back() /= 2;
    auto seen = mlir::MemRefType::get(shape, builder_.getI32Type());
    return plan::PairsOp::create(builder_, loc_, seen, buffer);
  }

  mlir::AffineExpr constant(int64_t number) {
    return builder_.getAffineConstantExpr(number);
  }
  mlir::AffineExpr item() { return builder_.getAffineDimExpr(0); }
  /// Dimension `number` of the nest itself, after those of the item and the
  /// loops.
  mlir::AffineExpr x(unsigned number) {
    return builder_.getAffineDimExpr(1 + loops_.size() + number);
  }

  /// The extents of a nest over rows and, optionally, columns. If `reduced` is
  /// not 0 it combines the products of its inputs over that many points.
  struct Extents {
    llvm::SmallVector<int64_t> parallel;
    int64_t reduced = 0;
    Reduction combine = Reduction::sum;
  };
  void nest(const Extents &extents, llvm::ArrayRef<At> mapReads,
            llvm::ArrayRef<At> thenReads, llvm::ArrayRef<At> outs, Codes then);
  /// A matmul: for x0 and x1, the sum over x2 of the product of the inputs, or
  /// of the products of their pairs.
  void product(int64_t rows, int64_t columns, int64_t inner, At a, At b,
               llvm::ArrayRef<At> thenReads, At out, Code then) {
    kernel_.setMultiplies(true);
    nest({{rows, columns}, inner}, {a, b}, thenReads, out,
         [&](const Scalars &s, mlir::ValueRange values) {
           return llvm::SmallVector<mlir::Value>{then(s, values)};
         });
  }
  /// Writes a number to all elements.
  void fill(llvm::ArrayRef<int64_t> extents, At out, double number) {
    mlir::Type element =
        llvm::cast<mlir::MemRefType>(out.buffer.getType()).getElementType();
    nest({llvm::SmallVector<int64_t>(extents)}, {}, {}, out,
         [&](const Scalars &s, mlir::ValueRange) {
           return llvm::SmallVector<mlir::Value>{
               splat(s.builder, s.loc, element, number)};
         });
  }

  /// Calls `body` for each tile: for the whole ones in a loop, between tiles
  /// `first` and `end` if those are given, then for the rest.
  void forTiles(Span all, int64_t size, mlir::AffineExpr first,
                mlir::AffineExpr end, llvm::function_ref<void(Span)> body) {
    int64_t whole = all.size / size;
    if (whole == 1 && !first && !end)
      body({all.start, size});
    else if (whole)
      loop(whole, first, end, [&](mlir::AffineExpr position) {
        body({all.start + position * size, size});
      });
    if (all.size % size)
      body({all.start + whole * size, all.size % size});
  }

  plan::KernelOp finished() {
    plan::EndOp::create(builder_, loc_);
    return kernel_;
  }

  /// Calls `body` for the positions of a loop from the larger of 0 and `first`
  /// up to, but excluding, the smaller of `count` and `end`; `first` and `end`
  /// may be null.
  void loop(int64_t count, mlir::AffineExpr first, mlir::AffineExpr end,
            llvm::function_ref<void(mlir::AffineExpr)> body);
  /// Calls `body` for the position, one of `count`, that a buffer of integers
  /// has at an index.
  void found(int64_t count, const At &position,
             llvm::function_ref<void(mlir::AffineExpr)> body) {
    loop(count, position.place, constant(count), position.buffer, body);
  }

private:
  void loop(int64_t count, llvm::ArrayRef<mlir::AffineExpr> firsts,
            llvm::ArrayRef<mlir::AffineExpr> ends, mlir::Value at,
            llvm::function_ref<void(mlir::AffineExpr)> body);

  NestRead read(const At &at, unsigned dims) {
    mlir::IntegerSet guard;
    if (!at.inside.empty())
      guard = mlir::IntegerSet::get(
          dims, 0, at.inside,
          llvm::SmallVector<bool>(at.inside.size(), /*equality=*/false));
    return {at.buffer,
            mlir::AffineMap::get(dims, 0, at.place, builder_.getContext()),
            guard};
  }

  mlir::OpBuilder builder_;
  mlir::Location loc_;
  unsigned inputs_;
  int64_t items_;
  llvm::SmallVector<int64_t> loops_; // trip counts of the loops around
  plan::KernelOp kernel_;
};

inline void KernelWriter::nest(const Extents &extents,
                               llvm::ArrayRef<At> mapReads,
                               llvm::ArrayRef<At> thenReads,
                               llvm::ArrayRef<At> outs, Codes then) {
  NestParts parts;
  parts.parallel = {items_};
  llvm::append_range(parts.parallel, loops_);
  llvm::append_range(parts.parallel, extents.parallel);
  unsigned dims = parts.parallel.size();
  if (!mapReads.empty()) {
    parts.reduced = {extents.reduced};
    parts.combine = {extents.combine};
  }
  for (const At &at : mapReads)
    parts.mapReads.push_back(read(at, dims + 1));
  for (const At &at : thenReads)
    parts.thenReads.push_back(read(at, dims));
  for (const At &at : outs) {
    parts.outs.push_back(at.buffer);
    parts.outputMaps.push_back(read(at, dims).map);
  }
  auto map = [](mlir::OpBuilder &inside, mlir::Location loc,
                mlir::ValueRange values) {
    mlir::Value result = values[0];
    if (result.getType().isInteger(32))
      return llvm::SmallVector<mlir::Value>{plan::DotPairsOp::create(
          inside, loc, inside.getF32Type(), result, values[1])};
    for (mlir::Value factor : values.drop_front())
      result = mlir::arith::MulFOp::create(inside, loc, result, factor);
    return llvm::SmallVector<mlir::Value>{result};
  };
  buildNest(builder_, loc_, parts, map,
            [&](mlir::OpBuilder &inside, mlir::Location loc,
                mlir::ValueRange values) {
              return then(Scalars(inside, loc), values);
            });
}

inline void
KernelWriter::loop(int64_t count, mlir::AffineExpr first, mlir::AffineExpr end,
                   llvm::function_ref<void(mlir::AffineExpr)> body) {
  llvm::SmallVector<mlir::AffineExpr> firsts = {constant(0)},
                                      ends = {constant(count)};
  if (first)
    firsts.push_back(first);
  if (end)
    ends.push_back(end);
  loop(count, firsts, ends, /*at=*/{}, body);
}

inline void
KernelWriter::loop(int64_t count, llvm::ArrayRef<mlir::AffineExpr> firsts,
                   llvm::ArrayRef<mlir::AffineExpr> ends, mlir::Value at,
                   llvm::function_ref<void(mlir::AffineExpr)> body) {
  unsigned around = 1 + loops_.size();
  mlir::MLIRContext *context = builder_.getContext();
  auto op = plan::LoopOp::create(
      builder_, loc_, mlir::AffineMap::get(around, 0, firsts, context),
      mlir::AffineMap::get(around, 0, ends, context), at);
  mlir::OpBuilder::InsertionGuard guard(builder_);
  builder_.createBlock(&op.getBody());
  loops_.push_back(count);
  body(builder_.getAffineDimExpr(around));
  loops_.pop_back();
}

} // namespace gradus
