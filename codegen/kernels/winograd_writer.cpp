// Positions of loops are dimensions of their nests, so an address is a linear
// function of them, without divisions.

#include "codegen/kernels/winograd_writer.h"

namespace gradus {
using namespace mlir;

/// Calls `body` with the rows, counted from the item's first, that are in a
/// segment.
void WinogradWriter::forRows(AffineExpr rows, const WinogradSegment &segment,
                             llvm::function_ref<void(AffineExpr)> body) {
  if (tiles_.rowGroups > 1) {
    AffineExpr before = rows * tiles_.rows;
    loop(tiles_.rows, segment.first - before, segment.end - before, body);
  } else if (segment.count() == 1) {
    body(constant(segment.first));
  } else {
    loop(segment.end, constant(segment.first), {}, body);
  }
}

void WinogradWriter::forParts(AffineExpr images, AffineExpr rows,
                              llvm::function_ref<void(const TilePart &)> body) {
  auto ofImage = [&](AffineExpr image) {
    for (const WinogradSegment &row : winogradRows(sizes_))
      forRows(rows, row, [&](AffineExpr inItem) {
        for (const WinogradSegment &column : winogradColumns(sizes_))
          body({images * tiles_.images + image, rows * tiles_.rows + inItem,
                (image * tiles_.rows + inItem) * sizes_.tileColumns() +
                    column.first,
                row, column});
      });
  };
  if (tiles_.images == 1)
    return ofImage(constant(0));
  AffineExpr end;
  if (sizes_.images % tiles_.images)
    end = sizes_.images - images * tiles_.images;
  loop(tiles_.images, {}, end, ofImage);
}

void WinogradWriter::transformSource(Value source, AffineExpr first,
                                     int64_t count, Value into,
                                     AffineExpr images, AffineExpr rows,
                                     AffineExpr place) {
  forParts(images, rows, [&](const TilePart &part) {
    SmallVector<At> reads, outs;
    SmallVector<int64_t> inside; // the numbers of what is not in the padding
    for (int64_t y = part.row.before; y < kWinogradSide - part.row.behind; ++y)
      for (int64_t z = part.column.before;
           z < kWinogradSide - part.column.behind; ++z) {
        inside.push_back(y * kWinogradSide + z);
        reads.push_back({source,
                         {part.image, first + x(0),
                          part.tileRow * kWinogradOutputs + (y - sizes_.padTop),
                          (x(1) + part.column.first) * kWinogradOutputs +
                              (z - sizes_.padLeft),
                          x(2)}});
      }
    AffineExpr to = (part.tile + x(1)) * paddedPlane(sizes_.channels) +
                    ((place ? place : first) + x(0)) * kWinogradLanes + x(2);
    for (int64_t plane = 0; plane < kWinogradPlanes; ++plane)
      outs.push_back({into, {constant(plane), to}});
    nest({{count, part.column.count(), kWinogradLanes}}, {}, reads, outs,
         [&](const Scalars &s, ValueRange values) {
           SmallVector<Value> tile(kWinogradPlanes);
           for (auto [number, value] : llvm::zip_equal(inside, values))
             tile[number] = value;
           SmallVector<Value> found = winogradInput(s, tile);
           for (Value &value : found)
             if (!value)
               value = s.number(0, values[0]);
           return found;
         });
  });
}

Value launchWinograd(OpBuilder &builder, plan::WinogradOp op,
                     KernelTable &kernels, plan::KernelOp kernel,
                     ValueRange operands, Type result, int64_t flops,
                     StringRef label) {
  int64_t items = kernel.getItems();
  return plan::LaunchOp::create(builder, op.getLoc(), result,
                                kernels.add(kernel, label).getSymName(),
                                operands, ArrayRef<int64_t>{items}, /*grain=*/1,
                                ArrayRef<int64_t>{-1}, flops,
                                builder.getStringAttr(label))
      .getResult(0);
}

} // namespace gradus
