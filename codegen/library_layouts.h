// How oneDNN wants to see the tensors of a call, asked from the library itself
// at compile time. Where it is not at hand, tensors stay in row-major order.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <string>
#include <vector>

namespace gradus {

/// What the library computes with.
enum class LibraryElement { f32, bf16 };

/// One tensor as the library sees it: `plan.library` and LibraryTensor of
/// runtime/artifact.fbs say what the lists mean.
struct LibraryLayout {
  llvm::SmallVector<int64_t> dims, strides, paddedDims, innerBlocks, innerAxes;
  int64_t elements = 0; // of memory, padding included
  LibraryElement element = LibraryElement::f32;

  bool isBlocked() const { return !innerBlocks.empty(); }
  bool operator==(const LibraryLayout &other) const {
    return dims == other.dims && strides == other.strides &&
           paddedDims == other.paddedDims && innerBlocks == other.innerBlocks &&
           innerAxes == other.innerAxes;
  }
};

/// Row-major; `swapped` exchanges the strides of the last two dims.
LibraryLayout rowMajorLayout(llvm::ArrayRef<int64_t> dims);
LibraryLayout transposedLayout(llvm::ArrayRef<int64_t> dims);

mlir::DictionaryAttr toAttribute(const LibraryLayout &layout,
                                 mlir::MLIRContext *context);

/// A call: its tensors (source, weights or gradient, results last) in row-major
/// order, and the windows of a convolution.
struct LibraryCall {
  std::string name; // as `plan.library` has it
  std::vector<LibraryLayout> operands;
  LibraryLayout result;
  llvm::SmallVector<int64_t> strides, dilations, padsBegin, padsEnd;
  std::string activation; // "" for none
  int64_t scratch = 0;    // bytes
};

/// Asks for the scratch of a call as it is; `free` lets the library choose the
/// layouts of operands 0 and 1 and of the result, and changes them. Returns
/// whether the library can do the call; without it, true and nothing changes.
bool askLibrary(LibraryCall &call, bool free);

/// Whether the library is at hand.
bool hasLibrary();

} // namespace gradus
