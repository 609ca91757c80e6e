// Values of tensors that stay in memory outside the context, such as a mapped
// file, and are not copied into it.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <functional>

namespace gradus {

/// An attribute with the elements of `type` that are row-major in `bytes`. Many
/// elements that are not all equal are not copied: `done` is called once nobody
/// needs them any more, and the owner of the bytes must live until then (`done`
/// may own it). Others are copied into the context, and `done` is called at
/// once.
mlir::ElementsAttr valuesInPlace(mlir::RankedTensorType type,
                                 llvm::ArrayRef<char> bytes,
                                 llvm::StringRef name,
                                 std::function<void()> done);

/// The bytes of values that are available, wherever they are: of one element if
/// all are equal and the context knows it.
llvm::ArrayRef<char> bytesOfValues(mlir::ElementsAttr values);

/// The owner of the values: the same for all attributes that share bytes
/// outside the context, whatever their types; null for null values.
const void *holderOf(mlir::ElementsAttr values);

/// Says that nobody will read these values again. Values outside the context
/// are then released for all attributes of the same owner.
void giveBackValues(mlir::ElementsAttr values);

} // namespace gradus
