// Lowers inverses of symmetric positive definite matrices to kernels, of which
// a matrix is an item.
//
// With M = L L^T and V = L^-1 the inverse is V^T V. Rows are made by panels of
// 16, from the top. With U = L^T a panel of both is
//
//   [U | V] = V' ([M | I] - sum over panels above of U'^T [U | V]),
//
// where V' is the panel's own square of V on the diagonal and U' the square of
// U above in the panel's columns. Panel k of U starts in its own columns and
// that of V ends there, so one matrix holds both: V on and below the diagonal
// of squares, U above. The sums leave out squares that are zero.
//
// The square on the diagonal is factored row by row, with V' beside it. A pivot
// that is not positive and finite makes NaN of its row, and so of V^T V.

#include "codegen/kernels/kernel_writer.h"
#include "codegen/kernels/lower_to_kernels.h"

#include <limits>

namespace gradus {
using namespace mlir;
using plan::KernelOp;
using plan::LaunchOp;

namespace {

/// The panels of matrices of `rows` rows, padded to whole ones by rows of the
/// identity.
struct InversePanels {
  int64_t rows, height, count;

  explicit InversePanels(int64_t rows)
      : rows(rows), height(std::min<int64_t>(rows, 16)),
        count(llvm::divideCeil(rows, height)) {}
  int64_t padded() const { return height * count; }
  bool isPadded() const { return padded() > rows; }
};

/// Builds the nests of one kernel. It works in its last result: that is the
/// inverse, or a padded matrix beside it.
class InverseKernel : public KernelWriter {
public:
  InverseKernel(MLIRContext *context, const InversePanels &panels,
                RankedTensorType operand, TypeRange results)
      : KernelWriter(context, operand, results, operand.getDimSize(0)),
        panels_(panels), element_(operand.getElementType()),
        work_(result(results.size() - 1)),
        panel_(scratch({panels.height, panels.padded()}, element_)),
        square_(scratch({panels.height, 2 * panels.height}, element_)),
        line_(scratch({2 * panels.height}, element_)) {}

  KernelOp kernel() {
    loop(panels_.count, {}, {}, [&](AffineExpr panel) {
      start(panel);
      eliminate(panel);
      factor(panel);
      finish(panel);
    });
    loop(panels_.count, {}, {}, [&](AffineExpr panel) { multiply(panel); });
    if (panels_.isPadded())
      copy({panels_.rows, panels_.rows}, {work_, {item(), x(0), x(1)}},
           {result(0), {item(), x(0), x(1)}});
    return finished();
  }

private:
  /// The first row or column of a panel.
  AffineExpr firstOf(AffineExpr panel) { return panel * panels_.height; }
  At panelAt(AffineExpr row, AffineExpr column) {
    return {panel_, {row, column}};
  }
  At workAt(AffineExpr row, AffineExpr column) {
    return {work_, {item(), row, column}};
  }
  void copy(ArrayRef<int64_t> extents, At from, At to) {
    nest({SmallVector<int64_t>(extents)}, {}, from, to,
         [](const Scalars &, ValueRange values) {
           return SmallVector<Value>(values);
         });
  }

  void start(AffineExpr panel);
  void addSquare(AffineExpr above, AffineExpr panel, AffineExpr column,
                 bool isNegative);
  void eliminate(AffineExpr panel);
  void factor(AffineExpr panel);
  void factorRow(AffineExpr panel, AffineExpr row);
  void finish(AffineExpr panel);
  void multiply(AffineExpr panel);

  InversePanels panels_;
  Type element_;
  Value work_, panel_, square_, line_;
};

/// The scalar 1 if the indices are equal, else `other`.
Value oneIfEqual(const Scalars &s, Value other, AffineExpr a, AffineExpr b) {
  Value equal = s.compare(arith::CmpIPredicate::eq, s.index(a), s.index(b));
  return s.select(equal, s.number(1, other), other);
}

//===-- panels of [U | V] -------------------------------------------------===//

/// Starts a panel with the rows of M, on and above the diagonal, and 0 before.
void InverseKernel::start(AffineExpr panel) {
  AffineExpr row = firstOf(panel) + x(0), column = x(1);
  At from{operand(0), {item(), row, column}, {column - row}};
  if (panels_.isPadded())
    from.inside.push_back(panels_.rows - 1 - column);
  nest({{panels_.height, panels_.padded()}}, {}, from, panelAt(x(0), x(1)),
       [&](const Scalars &s, ValueRange values) {
         Value value = values[0];
         if (panels_.isPadded()) {
           Value isBeyond = s.compare(arith::CmpIPredicate::sge, s.index(row),
                                      s.index(constant(panels_.rows)));
           value = s.select(
               isBeyond, oneIfEqual(s, s.number(0, value), row, column), value);
         }
         return SmallVector<Value>{value};
       });
}

/// Adds the square of panel `above` in the columns of `panel`, transposed,
/// times that in `column`, or its negative.
void InverseKernel::addSquare(AffineExpr above, AffineExpr panel,
                              AffineExpr column, bool isNegative) {
  int64_t side = panels_.height;
  AffineExpr row = firstOf(above) + x(2);
  At sum = panelAt(x(0), firstOf(column) + x(1));
  product(side, side, side, workAt(row, firstOf(panel) + x(0)),
          workAt(row, firstOf(column) + x(1)), sum, sum,
          [&](const Scalars &s, ValueRange values) {
            return isNegative ? s.subtract(values[1], values[0])
                              : s.add(values[1], values[0]);
          });
}

/// Subtracts the products with all panels above: of U from the panel's own
/// columns on, of V up to those of the panel above.
void InverseKernel::eliminate(AffineExpr panel) {
  loop(panels_.count, {}, panel, [&](AffineExpr above) {
    loop(panels_.count, panel, {}, [&](AffineExpr column) {
      addSquare(above, panel, column, /*isNegative=*/true);
    });
    loop(panels_.count, {}, above + 1, [&](AffineExpr column) {
      addSquare(above, panel, column, /*isNegative=*/true);
    });
  });
}

/// Factors the panel's square on the diagonal: `square` becomes [U | V] of it.
void InverseKernel::factor(AffineExpr panel) {
  int64_t side = panels_.height;
  fill({side, 2 * side}, {square_, {x(0), x(1)}}, 0);
  loop(side, {}, {}, [&](AffineExpr row) { factorRow(panel, row); });
}

/// Rows that are not made yet are 0, so all count. What comes out in U below
/// the diagonal is not used.
void InverseKernel::factorRow(AffineExpr panel, AffineExpr row) {
  int64_t side = panels_.height;
  At start = panelAt(row, firstOf(panel) + x(0));
  start.inside = {side - 1 - x(0)};
  At line{line_, {x(0)}};
  nest({{2 * side}, side},
       {At{square_, {x(1), row}}, At{square_, {x(1), x(0)}}}, start, line,
       [&](const Scalars &s, ValueRange values) {
         Value from = oneIfEqual(s, values[1], x(0), row + side);
         return SmallVector<Value>{s.subtract(from, values[0])};
       });
  nest({{2 * side}}, {}, {line, At{line_, {row}}}, At{square_, {row, x(0)}},
       [](const Scalars &s, ValueRange values) {
         Value pivot = values[1], zero = s.number(0, pivot);
         constexpr double infinity = std::numeric_limits<double>::infinity(),
                          nan = std::numeric_limits<double>::quiet_NaN();
         Value root = s.divide(s.number(1, pivot), s.squareRoot(pivot)),
               isFinite = s.less(pivot, s.number(infinity, pivot));
         Value factor =
             s.select(s.less(zero, pivot), root, s.number(nan, pivot));
         factor = s.select(isFinite, factor, s.number(nan, pivot));
         return SmallVector<Value>{s.multiply(values[0], factor)};
       });
}

/// Multiplies the panel by its square of V; in place of the square of M stands
/// the identity, of which that makes itself.
void InverseKernel::finish(AffineExpr panel) {
  int64_t side = panels_.height;
  nest({{side, side}}, {}, {}, panelAt(x(0), firstOf(panel) + x(1)),
       [&](const Scalars &s, ValueRange) {
         Value zero = splat(s.builder, s.loc, element_, 0);
         return SmallVector<Value>{oneIfEqual(s, zero, x(0), x(1))};
       });
  product(side, panels_.padded(), side, {square_, {x(0), side + x(2)}},
          panelAt(x(2), x(1)), {}, workAt(firstOf(panel) + x(0), x(1)),
          [](const Scalars &, ValueRange values) { return values[0]; });
}

//===-- V^T V -------------------------------------------------------------===//

/// Makes a panel of the inverse, of the panels of V from its own on, and puts
/// it where no other panel reads any more.
void InverseKernel::multiply(AffineExpr panel) {
  SmallVector<int64_t> all = {panels_.height, panels_.padded()};
  fill(all, panelAt(x(0), x(1)), 0);
  loop(panels_.count, panel, {}, [&](AffineExpr below) {
    loop(panels_.count, {}, below + 1, [&](AffineExpr column) {
      addSquare(below, panel, column, /*isNegative=*/false);
    });
  });
  copy(all, panelAt(x(0), x(1)), workAt(firstOf(panel) + x(0), x(1)));
}

} // namespace

SmallVector<Value> lowerToKernel(OpBuilder &builder, InverseOp op,
                                 KernelTable &kernels) {
  RankedTensorType type = op.getType();
  InversePanels panels(type.getShape().back());
  int64_t items = llvm::product_of(type.getShape().drop_back(2));
  auto matrices = type.clone({items, panels.rows, panels.rows});
  SmallVector<Type> results = {matrices};
  if (panels.isPadded())
    results.push_back(type.clone({items, panels.padded(), panels.padded()}));
  Value input =
      reshape(builder, op.getLoc(), op.getInput(), matrices.getShape());
  InverseKernel code(op.getContext(), panels, matrices, results);
  KernelOp kernel = kernels.add(code.kernel(), "inverse");
  auto launch =
      LaunchOp::create(builder, op.getLoc(), results, kernel.getSymName(),
                       input, ArrayRef<int64_t>{items}, /*grain=*/1,
                       SmallVector<int64_t>(results.size(), -1), op.getFlops(),
                       builder.getStringAttr("inverse"));
  return {reshape(builder, op.getLoc(), launch.getResult(0), type.getShape())};
}

} // namespace gradus
