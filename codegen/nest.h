// Building and rebuilding nests: what a nest reads, affine maps as nests use
// them, and scalar code of affine expressions. Lowering, fusion and kernel
// forming all speak in these terms.
#pragma once

#include "codegen/plan.h"
#include "ir/build.h"

namespace gradus {

/// One input of a nest: where each point reads it, and the points that do.
struct NestRead {
  mlir::Value value;
  mlir::AffineMap map;
  mlir::IntegerSet guard; // null: every point

  bool isGuarded() const { return guard != mlir::IntegerSet(); }
  bool operator==(const NestRead &other) const {
    return value == other.value && map == other.map && guard == other.guard;
  }
};

/// All of a nest but its regions.
struct NestParts {
  llvm::SmallVector<int64_t> parallel, reduced;
  llvm::SmallVector<NestRead> mapReads, thenReads;
  llvm::SmallVector<Reduction> combine;
  llvm::SmallVector<mlir::AffineMap> outputMaps;
  llvm::SmallVector<mlir::Type> resultTypes; // on tensors
  llvm::SmallVector<mlir::Value> outs;       // on buffers
  std::string label;                         // "matmul+add+tanh", for people

  unsigned dims() const { return parallel.size() + reduced.size(); }
};

NestParts partsOf(plan::NestOp nest);

/// What a nest does in a word or three: an attribute that fusion joins and that
/// names commands; empty for what only moves elements.
llvm::StringRef labelOf(plan::NestOp nest);
void setLabel(plan::NestOp nest, llvm::StringRef label);
/// "a+b"; three parts at most, then "+...".
std::string joinLabels(llvm::StringRef a, llvm::StringRef b);

/// Builds scalars from scalars: the code of a region.
using ScalarBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// Builds a nest. A read of a splat constant becomes a scalar constant, reads
/// that are equal become one. Without `combine` the map region stays empty.
plan::NestOp buildNest(mlir::OpBuilder &builder, mlir::Location location,
                       const NestParts &parts, ScalarBody map, ScalarBody then);

/// Copies the code of a region, with values for its arguments and for the
/// indices that it asks for; returns what it yields.
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
/// Whether the indices lie in the set, as i1.
mlir::Value emitInside(mlir::OpBuilder &builder, mlir::Location location,
                       mlir::IntegerSet set);

/// A domain that grows by a dimension at a time. Dimensions of extent 1 get no
/// dimension but the index 0. All parallel ones come before the reduced ones.
class Domain {
public:
  explicit Domain(mlir::MLIRContext *context) : context_(context) {}

  mlir::AffineExpr parallel(int64_t extent);
  mlir::AffineExpr reduced(int64_t extent);
  /// One parallel dimension for each of a shape's.
  llvm::SmallVector<mlir::AffineExpr> parallel(llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<mlir::AffineExpr> reduced(llvm::ArrayRef<int64_t> shape);
  mlir::AffineExpr constant(int64_t value) const;

  /// Maps over all dimensions and over the parallel ones.
  mlir::AffineMap map(llvm::ArrayRef<mlir::AffineExpr> results) const;
  mlir::AffineMap thenMap(llvm::ArrayRef<mlir::AffineExpr> results) const;

  /// Parts with this domain and nothing else yet. One that reduces has a
  /// reduced dimension, if only one of extent 1.
  NestParts elementwise() const;
  NestParts reducing(llvm::ArrayRef<Reduction> combine) const;

private:
  mlir::MLIRContext *context_;
  llvm::SmallVector<int64_t> parallel_, reduced_;
};

/// The shape of a tensor or buffer.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
/// More points than tensors of kMostTensorBytes can need; still small enough
/// for estimates to multiply.
constexpr int64_t kMostPoints = int64_t{1} << 52;
/// The points of a domain, at most kMostPoints.
int64_t product(llvm::ArrayRef<int64_t> extents);

/// Whether an op makes one tensor of others of its shape, element by element.
bool isElementwise(mlir::Operation *op);

/// Erases, last to first, what nobody reads and what has no effect.
void eraseUnused(mlir::Block &block);

/// The splat that a value is, or null.
mlir::TypedAttr splatOf(mlir::Value value);

} // namespace gradus
