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

void WinogradWriter::transform(ArrayRef<int64_t> extents, ArrayRef<At> reads,
                               ArrayRef<At> outs, Codes code) {
  nest({SmallVector<int64_t>(extents)}, {}, reads, outs,
       [&](const Scalars &s, ValueRange values) {
         SmallVector<Value> wide;
         for (Value value : values)
           wide.push_back(convert(s.builder, s.loc, value, f32_));
         SmallVector<Value> found = code(s, wide);
         for (auto [value, out] : llvm::zip_equal(found, outs))
           value =
               convert(s.builder, s.loc, value ? value : s.number(0, wide[0]),
                       getElementTypeOrSelf(out.buffer.getType()));
         return found;
       });
}

/// The positions of a tile along a dimension that exist, and the index of its
/// position 0, counted from the first of its outputs.
struct WinogradWriter::Positions {
  int64_t first, end, start;
};

void WinogradWriter::transformTiles(const TileBlocks &blocks, AffineExpr images,
                                    AffineExpr rows, int64_t side,
                                    PositionsOf positionsOf,
                                    TileTransform code) {
  forParts(images, rows, [&](const TilePart &part) {
    Positions inRows = positionsOf(part.row, sizes_.padTop),
              inColumns = positionsOf(part.column, sizes_.padLeft);
    SmallVector<At> reads, outs;
    SmallVector<int64_t> present; // the numbers of the positions that exist
    for (int64_t y = inRows.first; y < inRows.end; ++y)
      for (int64_t z = inColumns.first; z < inColumns.end; ++z) {
        present.push_back(y * side + z);
        reads.push_back(
            {blocks.from,
             {part.image, blocks.first + x(0),
              part.tileRow * sizes_.tile + (y + inRows.start),
              (x(1) + part.column.first) * sizes_.tile + (z + inColumns.start),
              x(2)}});
      }
    AffineExpr to = (part.tile + x(1)) * paddedPlane(blocks.channels) +
                    (blocks.place + x(0)) * kWinogradLanes + x(2);
    for (int64_t plane = 0; plane < sizes_.planes(); ++plane)
      outs.push_back({blocks.into, {constant(plane), to}});
    transform({blocks.count, part.column.count(), kWinogradLanes}, reads, outs,
              [&](const Scalars &s, ValueRange values) {
                SmallVector<Value> tile(side * side);
                for (auto [number, value] : llvm::zip_equal(present, values))
                  tile[number] = value;
                return SmallVector<Value>(code(s, tile));
              });
  });
}

void WinogradWriter::transformSource(const TileBlocks &blocks,
                                     AffineExpr images, AffineExpr rows) {
  transformTiles(
      blocks, images, rows, sizes_.side(),
      [this](const WinogradSegment &tiles, int64_t pad) -> Positions {
        return {tiles.before, sizes_.side() - tiles.behind, -pad};
      },
      winogradInput);
}

void WinogradWriter::transformGradient(const TileBlocks &blocks,
                                       AffineExpr images, AffineExpr rows) {
  transformTiles(
      blocks, images, rows, sizes_.tile,
      [](const WinogradSegment &tiles, int64_t) -> Positions {
        return {0, tiles.outputs, 0};
      },
      winogradGradient);
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
