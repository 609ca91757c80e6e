// Values of tensors that stay where they lie, such as in a mapped file, and
// are not copied into the context.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <functional>

namespace gradus {

/// The elements of `type`, which stand row-major in `bytes`. Many that are not
/// all equal stay there: `done` is called once nobody needs them any more, and
/// what holds the bytes must live so long (`done` may own it). Of others the
/// context has a copy, and `done` is called at once.
mlir::ElementsAttr valuesInPlace(mlir::RankedTensorType type,
                                 llvm::ArrayRef<char> bytes,
                                 llvm::StringRef name,
                                 std::function<void()> done);

/// The bytes of values that are at hand, wherever they lie: of one element
/// where all are equal and the context knows it.
llvm::ArrayRef<char> bytesOfValues(mlir::ElementsAttr values);

/// What holds the values: the same for all that are the same bytes elsewhere,
/// whatever their types are; none for no values.
const void *holderOf(mlir::ElementsAttr values);

/// Says that nobody will read these values again. Those that lie elsewhere are
/// gone then, for all that have the same holder.
void giveBackValues(mlir::ElementsAttr values);

} // namespace gradus
