// A vendor's library as `select` asks it: which products it takes, and how it
// wants to see their tensors.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>
#include <string>
#include <vector>

namespace gradus {

/// What the library computes with.
enum class LibraryElement { f32, bf16, f16 };
unsigned bytesOf(LibraryElement element);

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

/// Row-major; transposed: with the strides of the last two dims exchanged.
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
  /// A product's second result, as runtime/artifact.fbs has it.
  std::optional<LibraryLayout> second;
  llvm::SmallVector<int64_t> strides, dilations, padsBegin, padsEnd;
  std::string activation; // "" for none
  int64_t scratch = 0;    // bytes

  bool hasBias() const {
    return operands.size() > 2 && activation != "gelu_tanh_gradient";
  }
};

/// How large a product is.
struct ProductSize {
  int64_t flops = 0;
  int64_t narrowest = 0;  // least of the sizes that a block of it has
  bool mayBeStem = false; // a convolution whose inputs may be narrow
};

/// One call of attention: `[N, H, Tq, D]`, `[N, H, Tk, D]`, `[N, H, Tk, E]`.
struct AttentionSize {
  llvm::ArrayRef<int64_t> query, key, value;
  bool isBackward = false;

  int64_t flops() const;
};

class Library {
public:
  virtual ~Library() = default;
  /// Whether it has arithmetic for elements of this type, on some processor.
  virtual bool accepts(mlir::Type element) const = 0;
  /// Why our own code is as fast or faster, in words; empty: it is not.
  virtual llvm::StringRef reasonAgainst(const ProductSize &size) const = 0;
  /// What may go with a product: a bias along the channels, an activation.
  virtual bool takesBias(const LibraryCall &call) const = 0;
  virtual bool takesActivation(const LibraryCall &call,
                               llvm::StringRef activation) const = 0;
  /// Whether an activation may go with a product though it is rounded, or seen
  /// in another shape, before: it is rounded once, then.
  virtual bool joinsBehindViews() const = 0;
  /// Whether a product with gelu (tanh) gives what that is of, too.
  virtual bool keepsGeluInput(const LibraryCall &call) const = 0;
  /// Whether it multiplies a product by gelu's slopes at what gelu was of.
  virtual bool takesGeluGradient(const LibraryCall &call) const = 0;
  /// Whether it sums this operand beside a product along what is multiplied.
  virtual bool sumsOperand(const LibraryCall &call, unsigned operand) const = 0;
  /// Whether a result may be rounded to this type, of operands of that.
  virtual bool takesRounding(mlir::Type operands, mlir::Type rounded) const = 0;
  /// Whether a result has the element of the operands, not a wider one.
  virtual bool roundsResult(const LibraryCall &call) const = 0;
  /// Finds the scratch of a call and, where that pays, other layouts for its
  /// tensors. Whether it can do the call.
  virtual bool choose(LibraryCall &call) const = 0;
  /// Why nothing can be asked and `choose` takes calls as they are, in words;
  /// empty: nothing is in the way, or nothing ever asked.
  virtual std::string whyUnasked() const { return ""; }
  /// Whether it brings tensors from one layout to another.
  virtual bool reorders() const = 0;
  /// Bytes of scratch, where it has attention of this size in 16 bits, without
  /// dropout.
  virtual std::optional<int64_t>
  attentionScratch(const AttentionSize &size) const = 0;
};

/// "onednn" or "cuda"; null if there is none of this name.
const Library *findLibrary(llvm::StringRef name);

} // namespace gradus
