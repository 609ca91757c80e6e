// Lowers second moments to kernels. An item packs tiles of rows, converted to
// the type of sums, of which there is one at a time, so that patches of a
// convolution never lie in memory all at once. A tile's product with itself is
// added to the item's own result; a nest sums the parts of a block in order.
//
// A product is cut into squares, and only those on and above the diagonal are
// computed: the sum of parts reads the others from these.

#include "codegen/kernels/gram_tiles.h"
#include "codegen/kernels/kernel_writer.h"
#include "codegen/kernels/lower_to_kernels.h"

namespace gradus {
using namespace mlir;
using plan::KernelOp;
using plan::LaunchOp;

namespace {

/// Builds the nests of one kernel.
class GramKernel : public KernelWriter {
public:
  GramKernel(GramOp op, const GramSizes &sizes, const GramTiles &tiles,
             RankedTensorType result)
      : KernelWriter(op.getContext(), op.getInput().getType(), result,
                     result.getDimSize(0)),
        op_(op), sizes_(sizes), tiles_(tiles),
        element_(result.getElementType()) {
    // Neighbours in the tile are what neighbours in the input are: the rows of
    // a column, or the columns of a row.
    rowsAreContiguous_ = sizes.axis + 1 < tensorType(op.getInput()).getRank();
    tile_ = scratch(rowsAreContiguous_ ? ArrayRef{tiles.columns, tiles.rows}
                                       : ArrayRef{tiles.rows, tiles.columns},
                    element_);
  }

  KernelOp kernel() {
    fill({tiles_.columns, tiles_.columns}, {result(0), {item(), x(0), x(1)}},
         0);
    AffineExpr first = (item() % tiles_.parts) * tiles_.stepsOfPart;
    bool isAll = tiles_.parts == 1;
    loop(tiles_.steps, isAll ? AffineExpr() : first,
         isAll ? AffineExpr() : first + tiles_.stepsOfPart,
         [&](AffineExpr step) {
           pack(step);
           multiply();
         });
    return finished();
  }

private:
  /// The number of the item's block, through all parts of a row.
  AffineExpr block() { return item().floorDiv(tiles_.parts); }
  /// Column 0 of the item's block in its part of a row.
  AffineExpr firstColumn() {
    return sizes_.blocks == 1 ? constant(0)
                              : (block() % sizes_.blocks) * sizes_.block;
  }
  At tileAt(AffineExpr row, AffineExpr column) {
    if (rowsAreContiguous_)
      return {tile_, {column, row}};
    return {tile_, {row, column}};
  }

  void pack(AffineExpr step);
  SmallVector<AffineExpr> rowAt(AffineExpr step, ArrayRef<AffineExpr> inTile);
  At elementAt(ArrayRef<AffineExpr> row, AffineExpr column);
  void slide(ArrayRef<AffineExpr> tap, At &at);
  void multiply();
  void addSquare(AffineExpr row, AffineExpr column);

  GramOp op_;
  const GramSizes &sizes_;
  const GramTiles &tiles_;
  Type element_;
  bool rowsAreContiguous_;
  Value tile_;
};

//===-- packing -----------------------------------------------------------===//

/// Packs the tile of rows number `step`.
void GramKernel::pack(AffineExpr step) {
  SmallVector<int64_t> extents = {tiles_.extent};
  llvm::append_range(extents, ArrayRef(sizes_.rows).drop_front(tiles_.dim + 1));
  unsigned before = rowsAreContiguous_ ? 1 : 0;
  SmallVector<AffineExpr> inTile;
  AffineExpr row = constant(0),
             column = x(rowsAreContiguous_ ? 0 : extents.size());
  for (auto [number, extent] : llvm::enumerate(extents)) {
    inTile.push_back(x(before + number));
    row = row * extent + inTile.back();
  }
  extents.insert(rowsAreContiguous_ ? extents.begin() : extents.end(),
                 tiles_.columns);
  nest({extents}, {}, elementAt(rowAt(step, inTile), column),
       tileAt(row, column), [&](const Scalars &s, ValueRange values) {
         return SmallVector<Value>{
             convert(s.builder, s.loc, values[0], element_)};
       });
}

/// The position of a row of tile `step` in each dimension of the rows.
SmallVector<AffineExpr> GramKernel::rowAt(AffineExpr step,
                                          ArrayRef<AffineExpr> inTile) {
  int64_t tiles = tiles_.tilesAlong(sizes_);
  SmallVector<AffineExpr> row(inTile);
  row[0] = row[0] + (tiles_.dim > 0 ? step % tiles : step) * tiles_.extent;
  AffineExpr rest = step.floorDiv(tiles);
  for (unsigned d = tiles_.dim; d-- > 0;) {
    row.insert(row.begin(), d > 0 ? rest % sizes_.rows[d] : rest);
    rest = rest.floorDiv(sizes_.rows[d]);
  }
  return row;
}

/// The element of the input in a row and a column of the item's block; 0 beyond
/// the last row or column, and in the padding of an image.
At GramKernel::elementAt(ArrayRef<AffineExpr> row, AffineExpr column) {
  AffineExpr number = firstColumn() + column;
  int64_t taps = llvm::product_of(sizes_.taps);
  AffineExpr channel =
      block().floorDiv(sizes_.blocks) * sizes_.channels + number.floorDiv(taps);
  At at{operand(0), SmallVector<AffineExpr>(row)};
  at.place.insert(at.place.begin() + sizes_.axis, channel);
  if (tiles_.columns > sizes_.block)
    at.inside.push_back(sizes_.block - 1 - column);
  if (sizes_.columns % sizes_.block)
    at.inside.push_back(sizes_.columns - 1 - number);
  if (int64_t extent = sizes_.rows[tiles_.dim]; extent % tiles_.extent)
    at.inside.push_back(extent - 1 - row[tiles_.dim]);
  if (sizes_.taps.empty())
    return at;
  SmallVector<AffineExpr> tap;
  for (int64_t size : sizes_.taps) {
    taps /= size;
    tap.push_back(number.floorDiv(taps) % size);
  }
  slide(tap, at);
  return at;
}

/// Moves the place in an image from the number of a window to a tap of it.
void GramKernel::slide(ArrayRef<AffineExpr> tap, At &at) {
  Window window = windowOf(op_, *op_.getWindow());
  for (int64_t d = 0; d < window.rank(); ++d) {
    AffineExpr &index = at.place[2 + d];
    index = index * window.strides[d] + tap[d] * window.dilations[d] -
            window.padsBegin[d];
    int64_t size = tensorType(op_.getInput()).getDimSize(2 + d),
            furthest = window.inputIndex(d, sizes_.rows[1 + d] - 1,
                                         window.size[d] - 1);
    if (window.padsBegin[d] > 0)
      at.inside.push_back(index);
    if (furthest >= size)
      at.inside.push_back(size - 1 - index);
  }
}

//===-- products ----------------------------------------------------------===//

/// Adds the products of the tile's columns, without squares in which the last
/// block of a part has no columns.
void GramKernel::multiply() {
  int64_t squares = tiles_.squares();
  if (squares == 1)
    return addSquare(constant(0), constant(0));
  AffineExpr end;
  if (sizes_.columns % sizes_.block)
    end = (sizes_.columns - firstColumn() + (tiles_.side - 1))
              .floorDiv(tiles_.side);
  loop(squares, {}, end, [&](AffineExpr row) {
    loop(squares, row, end, [&](AffineExpr column) {
      addSquare(row * tiles_.side, column * tiles_.side);
    });
  });
}

/// Adds the square with these first columns of the tile as row and column.
void GramKernel::addSquare(AffineExpr row, AffineExpr column) {
  At sum{result(0), {item(), row + x(0), column + x(1)}};
  product(tiles_.side, tiles_.side, tiles_.rows, tileAt(x(2), row + x(0)),
          tileAt(x(2), column + x(1)), sum, sum,
          [](const Scalars &s, ValueRange values) {
            return s.add(values[0], values[1]);
          });
}

//===-- launches ----------------------------------------------------------===//

/// The mean of a block over all rows: the sum of its parts over their number.
/// Each element below the diagonal is read from its mirror image above it.
Value meanOfParts(OpBuilder &builder, GramOp op, Value found, int64_t parts,
                  int64_t rows) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  Domain domain(builder.getContext());
  SmallVector<AffineExpr> at = domain.parallel(shape);
  AffineExpr item = at[0] * parts + domain.reduced(parts);
  NestParts mean = domain.reducing(Reduction::sum);
  mean.mapReads = {{found, domain.map({item, at[1], at[2]}), {}},
                   {found, domain.map({item, at[2], at[1]}), {}}};
  mean.outputMaps = {domain.thenMap(at)};
  mean.resultTypes = {op.getType()};
  auto above = [&](OpBuilder &inside, Location loc, ValueRange values) {
    Scalars s(inside, loc);
    if (values.size() == 1)
      return SmallVector<Value>(values);
    Value isAbove =
        s.compare(arith::CmpIPredicate::sle, s.index(at[1]), s.index(at[2]));
    return SmallVector<Value>{s.select(isAbove, values[0], values[1])};
  };
  auto divide = [&](OpBuilder &inside, Location loc, ValueRange values) {
    Scalars s(inside, loc);
    return SmallVector<Value>{s.divide(values[0], s.number(rows, values[0]))};
  };
  plan::NestOp nest = buildNest(builder, op.getLoc(), mean, above, divide);
  setLabel(nest, "gram");
  return nest.getResult(0);
}

} // namespace

SmallVector<Value> lowerToKernel(OpBuilder &builder, GramOp op,
                                 KernelTable &kernels) {
  GramSizes sizes(op);
  Type element = op.getType().getElementType();
  GramTiles tiles(sizes, element.getIntOrFloatBitWidth() / 8);
  int64_t items = op.getType().getDimSize(0) * tiles.parts;
  auto type =
      RankedTensorType::get({items, tiles.columns, tiles.columns}, element);
  KernelOp kernel =
      kernels.add(GramKernel(op, sizes, tiles, type).kernel(), "gram");
  auto launch = LaunchOp::create(
      builder, op.getLoc(), type, kernel.getSymName(), op.getInput(),
      ArrayRef<int64_t>{items}, /*grain=*/1, ArrayRef<int64_t>{-1},
      op.getFlops(), builder.getStringAttr("gram"));
  return {meanOfParts(builder, op, launch.getResult(0), tiles.parts,
                      sizes.count())};
}

} // namespace gradus
