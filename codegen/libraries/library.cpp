// Layouts that all libraries have, and the libraries by name.

#include "codegen/libraries/library.h"

#include "codegen/libraries/cuda_libraries.h"
#include "codegen/libraries/onednn.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

namespace gradus {
using namespace mlir;

LibraryLayout rowMajorLayout(ArrayRef<int64_t> dims) {
  LibraryLayout layout;
  layout.dims = SmallVector<int64_t>(dims);
  layout.paddedDims = layout.dims;
  layout.strides.assign(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;)
    layout.strides[d - 1] = layout.strides[d] * dims[d];
  layout.elements = dims.empty() ? 1 : layout.strides[0] * dims[0];
  return layout;
}

LibraryLayout transposedLayout(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> stored(dims);
  std::swap(stored[dims.size() - 1], stored[dims.size() - 2]);
  LibraryLayout layout = rowMajorLayout(stored);
  layout.dims = layout.paddedDims = SmallVector<int64_t>(dims);
  std::swap(layout.strides[dims.size() - 1], layout.strides[dims.size() - 2]);
  return layout;
}

DictionaryAttr toAttribute(const LibraryLayout &layout, MLIRContext *context) {
  Builder b(context);
  return b.getDictionaryAttr(
      {b.getNamedAttr("dims", b.getDenseI64ArrayAttr(layout.dims)),
       b.getNamedAttr("strides", b.getDenseI64ArrayAttr(layout.strides)),
       b.getNamedAttr("padded_dims", b.getDenseI64ArrayAttr(layout.paddedDims)),
       b.getNamedAttr("inner_blocks",
                      b.getDenseI64ArrayAttr(layout.innerBlocks)),
       b.getNamedAttr("inner_axes", b.getDenseI64ArrayAttr(layout.innerAxes))});
}

CallFeatures activationFeature(StringRef activation) {
  return llvm::StringSwitch<CallFeatures>(activation)
      .Case("relu", CallFeatures::relu)
      .Case("tanh", CallFeatures::tanh)
      .Case("sigmoid", CallFeatures::sigmoid)
      .Case("gelu_tanh", CallFeatures::geluTanh)
      .Case("gelu_erf", CallFeatures::geluErf)
      .Default(CallFeatures::none);
}

unsigned bytesOf(LibraryElement element) {
  return element == LibraryElement::f32 ? 4 : 2;
}

/// The forward pass has two matmuls, the gradient five.
int64_t AttentionSize::flops() const {
  int64_t scores = query[0] * query[1] * query[2] * key[2];
  return 2 * scores *
         (isBackward ? 3 * query[3] + 2 * value[3] : query[3] + value[3]);
}

const Library *findLibrary(StringRef name) {
  return name == "onednn" ? &oneDnn()
         : name == "cuda" ? &cudaLibraries()
                          : nullptr;
}

} // namespace gradus
