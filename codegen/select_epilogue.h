// What goes into one call with a product: the ops behind it, or beside it, that
// a library computes on its way.
#pragma once

#include "codegen/library.h"

#include "mlir/IR/Operation.h"

namespace gradus {

/// A product that the library could compute: what it reads and gives, how large
/// it is.
struct Candidate {
  mlir::Operation *product; // a matmul or a convolution
  mlir::Operation *op;      // where the call goes
  LibraryCall call;
  llvm::SmallVector<mlir::Value> operands;
  mlir::Value result; // perhaps a view of what the call gives
  mlir::Value second; // null: the call gives one result
  ProductSize size;

  explicit Candidate(mlir::Operation *product)
      : product(product), op(product), result(product->getResult(0)) {}

  /// The call gives what comes behind its result so far.
  void continueWith(mlir::Value next) {
    result = next;
    op = next.getDefiningOp();
  }
  /// Of the call's result: the product's shape.
  mlir::RankedTensorType type() const;
};

/// The ops that may go with a product.
enum class Epilogues { none, bias, all };
/// The result is empty if no epilogues have this name.
std::optional<Epilogues> epiloguesOf(llvm::StringRef name);

/// Takes into the call what the library can do of it, and tells the library the
/// types. `accepts` says which types it may round to.
void takeEpilogue(Candidate &found, const Library &library, Epilogues epilogues,
                  llvm::function_ref<bool(mlir::Type)> accepts);

} // namespace gradus
