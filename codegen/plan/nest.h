// Builds and rebuilds nests: their inputs, their affine maps, and scalar code
// for affine expressions. Lowering, fusion and kernel forming are written in
// these terms.
#pragma once

#include "codegen/plan/plan.h"
#include "ir/build.h"

namespace gradus {

/// One input of a nest: the element that each point reads, and the points that
/// read at all.
struct NestRead {
  mlir::Value value;
  mlir::AffineMap map;
  mlir::IntegerSet guard; // null: every point

  bool isGuarded() const { return guard != mlir::IntegerSet(); }
  bool operator==(const NestRead &other) const {
    return value == other.value && map == other.map && guard == other.guard;
  }
};

/// A nest without its regions.
struct NestParts {
  llvm::SmallVector<int64_t> parallel, reduced;
  llvm::SmallVector<NestRead> mapReads, thenReads;
  llvm::SmallVector<Reduction> combine;
  llvm::SmallVector<mlir::AffineMap> outputMaps;
  llvm::SmallVector<mlir::Type> resultTypes; // on tensors
  llvm::SmallVector<mlir::Value> outs;       // on buffers
  std::string label;                         // for users: "matmul+add+tanh"
  bool isKept = false; // a copy that no contraction makes while it reads

  unsigned dims() const { return parallel.size() + reduced.size(); }
};

NestParts partsOf(plan::NestOp nest);

/// The label of a nest; empty if it has none.
llvm::StringRef labelOf(plan::NestOp nest);
/// Sets the label of a nest; an empty one leaves it as it is.
void setLabel(plan::NestOp nest, llvm::StringRef label);
/// Joins labels: "a+b"; after three parts "+...".
std::string joinLabels(llvm::StringRef a, llvm::StringRef b);

/// Builds scalars from scalars: the code of a region.
using ScalarBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// Builds a nest. A read of a splat constant becomes a scalar constant, and
/// equal reads become one. Without `combine` the map region stays empty.
plan::NestOp buildNest(mlir::OpBuilder &builder, mlir::Location location,
                       const NestParts &parts, ScalarBody map, ScalarBody then);

/// Copies the code of a region, with the given values for its arguments and
/// indices; returns the yielded values.
llvm::SmallVector<mlir::Value>
copyBody(mlir::OpBuilder &builder, mlir::Region &region,
         mlir::ValueRange arguments,
         llvm::function_ref<mlir::Value(unsigned)> index);

/// The index `dim` of the nest being built, as i64.
mlir::Value indexOf(mlir::OpBuilder &builder, mlir::Location location,
                    unsigned dim);
/// The value of an affine expression over the indices, as i64.
mlir::Value emitAffine(mlir::OpBuilder &builder, mlir::Location location,
                       mlir::AffineExpr expression);
/// An i1 that tells whether the indices are in the set.
mlir::Value emitInside(mlir::OpBuilder &builder, mlir::Location location,
                       mlir::IntegerSet set);

/// Builds a domain one dimension at a time. A dimension of extent 1 is not
/// added, its index is 0. All parallel dimensions come before the reduced ones.
class Domain {
public:
  explicit Domain(mlir::MLIRContext *context) : context_(context) {}

  mlir::AffineExpr parallel(int64_t extent);
  mlir::AffineExpr reduced(int64_t extent);
  /// Adds one dimension for each dimension of a shape.
  llvm::SmallVector<mlir::AffineExpr> parallel(llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<mlir::AffineExpr> reduced(llvm::ArrayRef<int64_t> shape);
  mlir::AffineExpr constant(int64_t value) const;

  /// Maps over all dimensions, or over the parallel ones.
  mlir::AffineMap map(llvm::ArrayRef<mlir::AffineExpr> results) const;
  mlir::AffineMap thenMap(llvm::ArrayRef<mlir::AffineExpr> results) const;

  /// Parts with this domain and nothing else. A nest that reduces gets a
  /// reduced dimension in any case, if only of extent 1.
  NestParts elementwise() const;
  NestParts reducing(llvm::ArrayRef<Reduction> combine) const;

private:
  mlir::MLIRContext *context_;
  llvm::SmallVector<int64_t> parallel_, reduced_;
};

/// A copy of weights whose dimension `dim` is the last and has `extent`
/// elements, with zeros behind its own. It stays a copy: whole vectors along
/// that dimension are what its readers want.
mlir::Value copyWithLast(mlir::OpBuilder &builder, mlir::Location location,
                         mlir::Value weight, unsigned dim, int64_t extent);

/// The shape of a tensor or buffer.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
/// More points than tensors of kMostTensorBytes can need, but few enough for
/// estimates to multiply.
constexpr int64_t kMostPoints = int64_t{1} << 52;
/// The number of points of a domain, at most kMostPoints.
int64_t product(llvm::ArrayRef<int64_t> extents);

/// Whether an op computes a tensor element by element from others of its shape.
bool isElementwise(mlir::Operation *op);

/// Erases the ops without users and side effects, from last to first.
void eraseUnused(mlir::Block &block);

/// The splat constant that defines a value, or null.
mlir::TypedAttr splatOf(mlir::Value value);

} // namespace gradus
