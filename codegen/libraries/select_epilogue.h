// Fuses ops after, or beside, a matmul or convolution into the library call
// that computes it.
#pragma once

#include "codegen/libraries/library.h"

#include "mlir/IR/Operation.h"

namespace gradus {

/// A matmul or convolution that the library could compute: its operands, its
/// results and its size.
struct Candidate {
  mlir::Operation *product; // the matmul or convolution
  mlir::Operation *op;      // the insertion point of the call
  LibraryCall call;
  llvm::SmallVector<mlir::Value> operands;
  mlir::Value result; // possibly a view of the call's result
  mlir::Value second; // null: the call has one result
  ProductSize size;

  explicit Candidate(mlir::Operation *product)
      : product(product), op(product), result(product->getResult(0)) {}

  /// Extends the call by the op that defines `next`.
  void continueWith(mlir::Value next) {
    result = next;
    op = next.getDefiningOp();
  }
  /// The type of the call's result, which has the shape of `product`'s.
  mlir::RankedTensorType type() const;
};

/// The ops that may be fused into a call.
enum class Epilogues { none, bias, all };
/// Returns nothing for other names.
std::optional<Epilogues> epiloguesOf(llvm::StringRef name);

/// Fuses what the library supports into the call, and sets its types. `accepts`
/// tells the types to which results may be rounded.
void takeEpilogue(Candidate &found, const Library &library, Epilogues epilogues,
                  llvm::function_ref<bool(mlir::Type)> accepts);

} // namespace gradus
