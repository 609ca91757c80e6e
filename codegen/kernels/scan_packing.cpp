// Panels of the weights that a scan's kernel reads; see scan_packing.h.

#include "codegen/kernels/scan_packing.h"

#include "codegen/plan/nest_cost.h"
#include "ir/build.h"

namespace gradus {
using namespace mlir;
using plan::NestOp;

/// Whether a nest sums products of two bf16.
static bool isProductOfBf16(NestOp nest) {
  Block &block = nest.getMap().front();
  auto sum =
      block.getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
  auto isOfBf16 = [](Value factor) {
    auto wide = factor.getDefiningOp<arith::ExtFOp>();
    return wide && isa<BlockArgument>(wide.getIn()) &&
           wide.getIn().getType().isBF16();
  };
  return nest.getCombine().size() == 1 && block.getNumArguments() == 2 && sum &&
         sum.getType().isF32() && sum.getLhs() != sum.getRhs() &&
         isOfBf16(sum.getLhs()) && isOfBf16(sum.getRhs());
}

/// Whether a nest reads an input along what it sums, from an even place on, of
/// rows that are whole pairs.
static bool readsRows(NestOp nest, unsigned number, const ScanRead &read) {
  Builder builder(nest.getContext());
  ArrayRef<int64_t> start = read.place.start;
  return read.map.getNumResults() == 2 &&
         read.map.getResult(0) == builder.getAffineDimExpr(0) &&
         read.map.getResult(1) == builder.getAffineDimExpr(2) &&
         (start.empty() || start.back() % 2 == 0) &&
         cast<ShapedType>(read.place.buffer.getType()).getShape().back() % 2 ==
             0 &&
         nest.getGuard(number) == IntegerSet();
}

std::optional<ScanPanels> panelsOf(NestOp nest, unsigned number,
                                   ArrayRef<ScanRead> reads,
                                   ArrayRef<int64_t> shape, int64_t rows,
                                   bool pairs) {
  AffineMap map = reads[number].map;
  if (nest.getParallel().size() != 2 || nest.getReduced().size() != 1 ||
      !isContraction(nest) || nest.getGuard(number) != IntegerSet() ||
      map.getNumResults() != 2)
    return std::nullopt;
  Builder builder(nest.getContext());
  AffineExpr column = builder.getAffineDimExpr(1),
             term = builder.getAffineDimExpr(2);
  ScanPanels panels;
  panels.isTurned = map.getResult(0) == column;
  panels.columns = nest.getParallel()[1];
  panels.inner = nest.getReduced()[0];
  if (map.getResult(panels.isTurned ? 0 : 1) != column ||
      map.getResult(panels.isTurned ? 1 : 0) != term ||
      shape[panels.isTurned ? 0 : 1] != panels.columns ||
      shape[panels.isTurned ? 1 : 0] != panels.inner)
    return std::nullopt;
  panels.ofPairs = pairs && isProductOfBf16(nest) && panels.inner % 2 == 0 &&
                   readsRows(nest, 1 - number, reads[1 - number]);
  panels.width = panelWidth(panels.columns, rows, panels.ofPairs);
  return panels;
}

Value packedMatrix(OpBuilder &builder, Location loc, Value matrix,
                   const ScanPanels &panels) {
  int64_t count = panels.count(), width = panels.width, inner = panels.inner;
  SmallVector<int64_t> order, shape = {count, width, inner};
  order = {0, 2, 1};
  if (!panels.isTurned) {
    shape = {inner, count, width};
    order = {1, 0, 2};
  }
  if (panels.ofPairs) {
    shape = {count, width, inner / 2, 2};
    order = {0, 2, 1, 3};
  }
  if (panels.ofPairs && !panels.isTurned) {
    shape = {inner / 2, 2, count, width};
    order = {2, 0, 3, 1};
  }
  return transpose(builder, loc, reshape(builder, loc, matrix, shape), order);
}

void askForNextPanel(NestParts &parts, unsigned panel) {
  unsigned dims = parts.parallel.size();
  Builder builder(parts.outs[0].getContext());
  AffineExpr position = builder.getAffineDimExpr(panel),
             next = (position + 1) % parts.parallel[panel];
  SmallVector<NestRead> asked;
  for (const NestRead &read : parts.thenReads)
    if (isa<BlockArgument>(read.value) && read.guard == IntegerSet())
      asked.push_back(
          {read.value, read.map.replace(position, next, dims, 0), {}});
  llvm::append_range(parts.thenReads, asked);
}

Value pairsOf(OpBuilder &builder, Value buffer) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(buffer);
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() /= 2;
  return plan::PairsOp::create(builder, buffer.getLoc(),
                               MemRefType::get(shape, builder.getI32Type()),
                               buffer);
}

} // namespace gradus
