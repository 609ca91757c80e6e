// Lowers a library's matmul of bf16 to kernels of our own, and one of f32 whose
// left matrix is transposed. The right matrix is packed in panels that tiles
// stream through, and so is the left one where it is transposed, or copied
// where its rows would evict each other. The library packs in each thread and
// each call, waits for memory while it does, and transposes slowly.
//
// An item of the matmul has a block of rows and one panel of columns, which it
// packs itself unless the left matrix is transposed. Its tiles are nests, whose
// sums fill the registers and go through the terms in order, so that no bit
// depends on blocks or threads. The sums ask for what the next item packs.

#include "codegen/kernels/kernel_writer.h"
#include "codegen/kernels/lower_to_kernels.h"
#include "codegen/kernels/matmul_tiles.h"

namespace gradus {
using namespace mlir;
using plan::KernelOp;
using plan::LaunchOp;
using plan::LibraryOp;

namespace {

/// Whether a matrix of a call is transposed in memory; none if it is neither
/// that nor row-major.
std::optional<bool> isTransposed(Value operand, Attribute layout) {
  auto entries = cast<DictionaryAttr>(layout);
  auto list = [&](StringRef name) {
    auto found = entries.getAs<DenseI64ArrayAttr>(name);
    return found ? found.asArrayRef() : ArrayRef<int64_t>();
  };
  ArrayRef<int64_t> dims = list("dims"), strides = list("strides"),
                    shape = shapeOf(operand);
  if (dims.size() != 2 || shape.size() != 2 || !list("inner_blocks").empty())
    return std::nullopt;
  if (shape == dims &&
      (strides.empty() || strides == ArrayRef<int64_t>{dims[1], 1}))
    return false;
  if (shape == ArrayRef<int64_t>{dims[1], dims[0]} &&
      strides == ArrayRef<int64_t>{1, dims[0]})
    return true;
  return std::nullopt;
}

/// The matmul of a call, if kernels of ours can compute it.
std::optional<MatmulSizes> sizesOf(LibraryOp op) {
  OperandRange operands = op.getOperands();
  bool hasBias = operands.size() == 3 && shapeOf(operands[2]).size() == 1;
  if (op.getCall() != "matmul" || op->getNumResults() != 1 ||
      (operands.size() != 2 && !hasBias) || op.getLayouts().empty() ||
      !op.getConfig().empty())
    return std::nullopt;
  Value left = operands[0], right = operands[1];
  auto leftIs = isTransposed(left, op.getLayouts()[0]),
       rightIs = isTransposed(right, op.getLayouts()[1]),
       resultIs =
           isTransposed(op.getResult(0), op.getLayouts().getValue().back());
  Type element = getElementTypeOrSelf(left);
  auto result = cast<RankedTensorType>(op.getResult(0).getType());
  if (!leftIs || !rightIs || resultIs != false ||
      !(element.isBF16() || element.isF32()) ||
      getElementTypeOrSelf(right) != element)
    return std::nullopt;
  MatmulSizes sizes;
  sizes.ofPairs = element.isBF16();
  sizes.rows = result.getDimSize(0);
  sizes.columns = result.getDimSize(1);
  sizes.inner = shapeOf(left)[*leftIs ? 0 : 1];
  sizes.leftIsTransposed = *leftIs;
  sizes.rightIsTransposed = *rightIs;
  if (!sizes.areOurs())
    return std::nullopt;
  return sizes;
}

/// Writes kernels whose items have parts of a dimension.
class PartWriter : public KernelWriter {
protected:
  using KernelWriter::KernelWriter;

  /// The terms of sums in an operand that isn't packed: pairs, or single
  /// numbers.
  Value terms(unsigned number) {
    return isOfPairs(operand(number)) ? pairs(operand(number))
                                      : operand(number);
  }
  static bool isOfPairs(Value buffer) {
    return cast<MemRefType>(buffer.getType()).getElementType().isBF16();
  }

  void copy(const Extents &extents, const At &from, const At &to) {
    nest(extents, {}, from, to, [](const Scalars &, ValueRange values) {
      return SmallVector<Value>(values);
    });
  }

  /// Writes terms (x0) of some columns (x1) of a matrix [inner, columns], or,
  /// along its terms, of the terms of one of [columns, inner].
  void pack(Value matrix, bool alongTerms, Span terms, Span columns,
            const At &to) {
    AffineExpr term = terms.start + x(0), column = columns.start + x(1);
    Extents extents{{terms.size, columns.size}};
    if (alongTerms)
      copy(extents, {matrix, {column, term}}, to);
    else if (!isOfPairs(matrix))
      copy(extents, {matrix, {term, column}}, to);
    else
      nest(extents, {},
           {At{matrix, {term * 2, column}}, At{matrix, {term * 2 + 1, column}}},
           to, [](const Scalars &s, ValueRange values) {
             return SmallVector<Value>{s.pair(values[0], values[1])};
           });
  }

  /// Calls `body` with the size of a part of `all`: `size`, or what is left for
  /// the last one.
  void forPart(AffineExpr number, int64_t all, int64_t size,
               llvm::function_ref<void(int64_t size)> body) {
    int64_t whole = all / size, rest = all % size;
    if (!rest || !whole)
      return body(rest ? rest : size);
    // Loops of at most one step are conditions.
    loop(1, {}, whole - number, [&](AffineExpr) { body(size); });
    loop(1, {}, number - (whole - 1), [&](AffineExpr) { body(rest); });
  }
};

//===-- packing -----------------------------------------------------------===//

/// Packs a matrix [inner, columns], or one of [columns, inner], in panels
/// [panels, terms, width] of terms, which may be pairs. An item reads what lies
/// together in memory: some terms for all panels, or the columns of a panel.
class PackingKernel : public PartWriter {
public:
  PackingKernel(Value matrix, bool alongTerms, RankedTensorType panels)
      : PartWriter(matrix.getContext(), matrix.getType(), panels,
                   alongTerms
                       ? panels.getDimSize(0)
                       : llvm::divideCeil(panels.getDimSize(1), kTermsOfItem)),
        terms_(panels.getDimSize(1)), width_(panels.getDimSize(2)),
        columns_(shapeOf(matrix)[alongTerms ? 0 : 1]) {}

  KernelOp alongTerms() {
    Value from = terms(0);
    forPart(item(), columns_, width_, [&](int64_t columns) {
      pack(from, /*alongTerms=*/true, {constant(0), terms_},
           {item() * width_, columns}, {result(0), {item(), x(0), x(1)}});
    });
    return finished();
  }

  KernelOp acrossTerms() {
    AffineExpr first = item() * kTermsOfItem;
    forPart(item(), terms_, kTermsOfItem, [&](int64_t terms) {
      forTiles({constant(0), columns_}, width_, {}, {}, [&](Span columns) {
        pack(operand(0), /*alongTerms=*/false, {first, terms}, columns,
             {result(0), {columns.start.floorDiv(width_), first + x(0), x(1)}});
      });
    });
    return finished();
  }

private:
  static constexpr int64_t kTermsOfItem = 8;

  int64_t terms_, width_, columns_;
};

/// Copies the rows of a matrix to longer ones.
class SpreadingKernel : public PartWriter {
public:
  SpreadingKernel(Value matrix, RankedTensorType spread)
      : PartWriter(matrix.getContext(), matrix.getType(), spread,
                   llvm::divideCeil(spread.getDimSize(0), kRowsOfItem)),
        rows_(spread.getDimSize(0)), terms_(shapeOf(matrix)[1] / 2) {}

  KernelOp kernel() {
    Value from = pairs(operand(0));
    forPart(item(), rows_, kRowsOfItem, [&](int64_t rows) {
      AffineExpr row = item() * kRowsOfItem + x(0);
      copy({{rows, terms_}}, {from, {row, x(1)}}, {result(0), {row, x(1)}});
    });
    return finished();
  }

private:
  static constexpr int64_t kRowsOfItem = 8;

  int64_t rows_, terms_;
};

/// Launches the packing of a matrix, or finds the one that is there already, as
/// for the matmuls of one input with several weights.
Value packed(OpBuilder &builder, Operation *reader, Value matrix,
             RankedTensorType type, KernelOp code, KernelTable &kernels) {
  KernelOp kernel = kernels.add(code, "pack");
  for (Operation *user : matrix.getUsers())
    if (auto launch = dyn_cast<LaunchOp>(user);
        launch && launch.getKernel() == kernel.getSymName() &&
        launch->getBlock() == reader->getBlock())
      return launch.getResult(0);
  return LaunchOp::create(builder, reader->getLoc(), type, kernel.getSymName(),
                          matrix, ArrayRef<int64_t>{int64_t(kernel.getItems())},
                          /*grain=*/1, ArrayRef<int64_t>{-1}, /*flops=*/0,
                          builder.getStringAttr("pack"))
      .getResult(0);
}

/// Packs a matrix in panels of some columns.
Value packed(OpBuilder &builder, Operation *reader, Value matrix,
             bool alongTerms, const MatmulSizes &sizes, int64_t width,
             KernelTable &kernels) {
  int64_t columns = shapeOf(matrix)[alongTerms ? 0 : 1];
  auto type = RankedTensorType::get(
      {int64_t(llvm::divideCeil(columns, width)), sizes.terms(), width},
      sizes.ofPairs ? builder.getI32Type() : getElementTypeOrSelf(matrix));
  PackingKernel code(matrix, alongTerms, type);
  return packed(builder, reader, matrix, type,
                alongTerms ? code.alongTerms() : code.acrossTerms(), kernels);
}

/// Moves the rows of a left matrix apart.
Value spread(OpBuilder &builder, Operation *reader, Value matrix,
             const MatmulSizes &sizes, KernelTable &kernels) {
  auto type = RankedTensorType::get(
      {sizes.rows, sizes.terms() + MatmulSizes::kTermsOfLine},
      builder.getI32Type());
  return packed(builder, reader, matrix, type,
                SpreadingKernel(matrix, type).kernel(), kernels);
}

//===-- products ----------------------------------------------------------===//

/// Builds the nests of a matmul: left matrix, right one or its panels, perhaps
/// a bias, to the result.
class MatmulKernel : public PartWriter {
public:
  MatmulKernel(MLIRContext *context, const MatmulSizes &sizes,
               const MatmulTiles &tiles, ValueRange operands, Type result)
      : PartWriter(context, operands.getTypes(), result,
                   tiles.rowBlocks * tiles.panels),
        sizes_(sizes), tiles_(tiles), hasBias_(operands.size() > 2),
        element_(cast<RankedTensorType>(result).getElementType()) {
    left_ = terms(0);
    right_ = sizes.rightIsTransposed ? terms(1) : operand(1);
  }

  KernelOp kernel() {
    int64_t terms = sizes_.terms(), part = tiles_.termsOfPart,
            last = (terms - 1) / part * part;
    if (sizes_.packsInItems())
      packed_ = scratch({part, MatmulTiles::kWidth},
                        cast<MemRefType>(left_.getType()).getElementType());
    if (last) {
      sums_ = scratch({tiles_.tilesOfBlock * tiles_.rows, MatmulTiles::kWidth},
                      Float32Type::get(element_.getContext()));
      add({constant(0), part}, {.isFirst = true});
      forTiles({constant(part), last - part}, part, {}, {},
               [&](Span span) { add(span, {}); });
    }
    add({constant(last), terms - last}, {.isFirst = !last, .isLast = true});
    KernelOp kernel = finished();
    kernel.setWritesOnce(true);
    return kernel;
  }

private:
  AffineExpr panel() { return item() % tiles_.panels; }
  AffineExpr rowBlock() { return item().floorDiv(tiles_.panels); }

  /// Tells which part of the terms a nest sums. Sums of all but the last are in
  /// scratch.
  struct Part {
    bool isFirst = false, isLast = false;
  };
  /// Rows of a tile, by their numbers in the matrix and in the item's block.
  struct Tile {
    AffineExpr start, inBlock;
    int64_t rows;
  };

  void add(Span terms, Part part) {
    constexpr int64_t width = MatmulTiles::kWidth;
    forPart(panel(), sizes_.columns, width, [&](int64_t columns) {
      if (packed_)
        pack(right_, sizes_.rightIsTransposed, terms,
             {panel() * width, columns}, {packed_, {x(0), x(1)}});
      forRows(terms, columns, part);
    });
  }

  void forRows(Span terms, int64_t columns, Part part) {
    int64_t whole = sizes_.rows / tiles_.rows, rest = sizes_.rows % tiles_.rows,
            ofBlock = tiles_.tilesOfBlock;
    AffineExpr first = rowBlock() * ofBlock;
    bool isFull = whole == tiles_.rowBlocks * ofBlock; // so is every block
    if (whole)
      loop(std::min(ofBlock, whole), {}, isFull ? AffineExpr() : whole - first,
           [&](AffineExpr tile) {
             multiply({first + tile, tile, tiles_.rows}, terms, columns, part);
           });
    if (rest)
      loop(1, {}, rowBlock() - (tiles_.rowBlocks - 2), [&](AffineExpr) {
        int64_t inLast = whole - (tiles_.rowBlocks - 1) * ofBlock;
        multiply({constant(whole), constant(inLast), rest}, terms, columns,
                 part);
      });
  }

  void multiply(const Tile &tile, Span terms, int64_t columns, Part part);
  SmallVector<At> nextOfPanels(const Tile &tile, Span terms, Part part);

  const MatmulSizes &sizes_;
  const MatmulTiles &tiles_;
  bool hasBias_;
  Type element_;
  Value left_, right_;
  Value packed_; // the item's panel; none if the right operand has panels
  Value sums_;   // of parts of terms, for the item's block
};

/// Returns the reads by which a whole tile asks for a part of what is packed
/// next, of this panel or of the next item's. Each is of 64 bytes for a vector
/// of the tile. The tiles of a full block ask for all of it.
SmallVector<At> MatmulKernel::nextOfPanels(const Tile &tile, Span terms,
                                           Part part) {
  constexpr int64_t width = MatmulTiles::kWidth, lanes = width / 2;
  if (part.isLast && tiles_.panels == 1)
    return {};
  AffineExpr first = part.isLast ? constant(0) : terms.start + terms.size,
             next = part.isLast ? (panel() + 1) % tiles_.panels : panel();
  // Along terms a vector is a part of one of the panel's columns. Across them
  // it is one of the panel's rows, the second vector lies `lanes` rows behind
  // the first, and reads start in each of these rows. A row of the tile is
  // `step` terms or rows behind the one before, at most `width`.
  bool along = sizes_.rightIsTransposed;
  int64_t ofTerm = along ? 1 : 2, all = tiles_.termsOfPart * ofTerm,
          ofRead = llvm::divideCeil(all, tiles_.rows * width),
          step = llvm::divideCeil(all, tiles_.rows * ofRead),
          starts = along ? width : lanes, reads = starts * ofRead,
          readsOfTile = llvm::divideCeil(
              reads, std::min(tiles_.tilesOfBlock, sizes_.rows / tiles_.rows));
  SmallVector<At> asked;
  for (int64_t i = 0; i < readsOfTile; ++i) {
    AffineExpr number = (tile.inBlock * readsOfTile + i) % reads,
               start = number % starts,
               place = first * ofTerm +
                       number.floorDiv(starts) * (tiles_.rows * step) +
                       x(0) * step + x(1),
               column = next * width;
    asked.push_back(along ? At{right_, {column + start, place}}
                          : At{right_, {place + start, column}});
  }
  return asked;
}

/// Multiplies a tile of rows with the item's panel.
void MatmulKernel::multiply(const Tile &tile, Span terms, int64_t columns,
                            Part part) {
  AffineExpr row = tile.start * tiles_.rows + x(0), term = terms.start + x(2),
             column = panel() * MatmulTiles::kWidth + x(1);
  At left = sizes_.leftIsTransposed ? At{left_, {tile.start, term, x(0)}}
                                    : At{left_, {row, term}},
     sum{sums_, {tile.inBlock * tiles_.rows + x(0), x(1)}};
  SmallVector<At> reads;
  if (!part.isFirst)
    reads.push_back(sum);
  else if (hasBias_)
    reads.push_back({operand(2), {column}});
  bool isAdded = !reads.empty();
  if (packed_ && tile.rows == tiles_.rows && columns == MatmulTiles::kWidth)
    llvm::append_range(reads, nextOfPanels(tile, terms, part));
  product(
      tile.rows, columns, terms.size, left,
      packed_ ? At{packed_, {x(2), x(1)}} : At{right_, {panel(), term, x(1)}},
      reads, part.isLast ? At{result(0), {row, column}} : sum,
      [&](const Scalars &s, ValueRange values) {
        Value all = values[0];
        if (isAdded)
          all = s.add(all, convert(s.builder, s.loc, values[1], all.getType()));
        return part.isLast ? convert(s.builder, s.loc, all, element_) : all;
      });
}

} // namespace

SmallVector<Value> lowerToKernel(OpBuilder &builder, LibraryOp op,
                                 KernelTable &kernels, int64_t threads) {
  std::optional<MatmulSizes> sizes = sizesOf(op);
  if (!sizes)
    return {};
  MatmulTiles tiles(*sizes, threads);
  SmallVector<Value> operands(op.getOperands());
  if (sizes->leftIsTransposed)
    operands[0] = packed(builder, op, operands[0], /*alongTerms=*/false, *sizes,
                         tiles.rows, kernels);
  else if (sizes->sharesSets())
    operands[0] = spread(builder, op, operands[0], *sizes, kernels);
  if (!sizes->packsInItems())
    operands[1] = packed(builder, op, operands[1], sizes->rightIsTransposed,
                         *sizes, MatmulTiles::kWidth, kernels);
  Type type = op.getResult(0).getType();
  std::string label = sizes->ofPairs ? "matmul_of_pairs" : "matmul";
  if (operands.size() > 2)
    label += "+bias";
  KernelOp kernel = kernels.add(
      MatmulKernel(op.getContext(), *sizes, tiles, operands, type).kernel(),
      label);
  return {LaunchOp::create(builder, op.getLoc(), type, kernel.getSymName(),
                           operands,
                           ArrayRef<int64_t>{int64_t(kernel.getItems())},
                           /*grain=*/1, ArrayRef<int64_t>{-1}, op.getFlops(),
                           builder.getStringAttr(label))
              .getResult(0)};
}

} // namespace gradus
