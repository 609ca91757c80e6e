// A vendor's library as seen by `select`: the calls that it supports, and the
// layouts that it prefers.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/BitmaskEnum.h"

#include <optional>
#include <string>
#include <vector>

namespace gradus {

/// The element type that the library computes with.
enum class LibraryElement { f32, bf16, f16 };
unsigned bytesOf(LibraryElement element);

/// One tensor of a library call; for the lists see `plan.library` and
/// LibraryTensor in runtime/artifact.fbs.
struct LibraryLayout {
  llvm::SmallVector<int64_t> dims, strides, paddedDims, innerBlocks, innerAxes;
  int64_t elements = 0; // in memory, with padding
  LibraryElement element = LibraryElement::f32;

  bool isBlocked() const { return !innerBlocks.empty(); }
  bool operator==(const LibraryLayout &other) const {
    return dims == other.dims && strides == other.strides &&
           paddedDims == other.paddedDims && innerBlocks == other.innerBlocks &&
           innerAxes == other.innerAxes;
  }
};

/// Row-major, or transposed: row-major with the strides of the last two dims
/// exchanged.
LibraryLayout rowMajorLayout(llvm::ArrayRef<int64_t> dims);
LibraryLayout transposedLayout(llvm::ArrayRef<int64_t> dims);

mlir::DictionaryAttr toAttribute(const LibraryLayout &layout,
                                 mlir::MLIRContext *context);

/// A call: its tensors (source, weights or gradient, results last) in row-major
/// order, and the windows of a convolution.
struct LibraryCall {
  std::string name; // as in `plan.library`
  std::vector<LibraryLayout> operands;
  LibraryLayout result;
  /// The second result of a matmul, as in runtime/artifact.fbs.
  std::optional<LibraryLayout> second;
  llvm::SmallVector<int64_t> strides, dilations, padsBegin, padsEnd;
  std::string activation; // "" for none
  int64_t scratch = 0;    // bytes
  /// The channels of a block of tensors whose channels fill such, beside the
  /// weights; 0: the library chooses.
  int64_t channelBlock = 0;
  bool tiles = false; // the target multiplies bf16 by tiles (AMX)

  bool hasBias() const {
    return operands.size() > 2 && activation != "gelu_tanh_gradient";
  }
};

/// The size of a matmul or convolution.
struct ProductSize {
  int64_t flops = 0;
  int64_t narrowest = 0;          // the minimum size of a block of it
  bool mayBeNarrow = false;       // a convolution that may pay though narrow
  bool isStem = false;            // of few channels, as of images, to many
  bool isPointwise = false;       // a convolution by windows of one element
  bool isDepthwise = false;       // a convolution of each channel by itself
  bool givesWeights = false;      // the gradient of a convolution's weights
  bool is16Bits = false;          // of numbers of 16 bits
  int64_t channels = 0, taps = 0; // of a convolution, and of its window
  int64_t windowDims = 2;         // the dimensions of that window
  bool isDilated = false;         // of a window with gaps
  bool isGrouped = false;         // a convolution in groups of several channels
  int64_t channelsInCommon = 0;   // the largest number of which a group's
                                  // inputs and outputs are multiples
  /// The channels of the blocks that it fills, each group its own, and that its
  /// neighbours have; 0: not known.
  int64_t channelBlock = 0;
};

/// The size of an attention call: `[N, H, Tq, D]`, `[N, H, Tk, D]`, `[N, H, Tk,
/// E]`.
struct AttentionSize {
  llvm::ArrayRef<int64_t> query, key, value;
  bool isBackward = false;

  int64_t flops() const;
};

/// The things that a library does with a call beside the call itself, a bit
/// each.
enum class CallFeatures : uint32_t {
  none = 0,
  bias = 1 << 0, // adds one along the channels
  relu = 1 << 1, // applies this activation, as the ones below
  tanh = 1 << 2,
  sigmoid = 1 << 3,
  geluTanh = 1 << 4,
  geluErf = 1 << 5,
  activations = relu | tanh | sigmoid | geluTanh | geluErf,
  /// Applies an activation though the product is rounded, or seen in another
  /// shape, before: it is rounded once, then.
  behindViews = 1 << 6,
  geluInput = 1 << 7,      // with gelu (tanh), gives what that is of, too
  geluGradient = 1 << 8,   // multiplies by gelu's slopes at what gelu was of
  sourceSum = 1 << 9,      // sums operand 0 along what is multiplied
  weightsSum = 1 << 10,    // sums operand 1
  roundedResult = 1 << 11, // gives the operands' element, and no wider one
  LLVM_MARK_AS_BITMASK_ENUM(roundedResult)
};
LLVM_ENABLE_BITMASK_ENUMS_IN_NAMESPACE();

/// The feature of an activation by its name in `plan.library`; none for others.
CallFeatures activationFeature(llvm::StringRef activation);

class Library {
public:
  virtual ~Library() = default;
  /// Whether it computes with elements of this type on some processor.
  virtual bool accepts(mlir::Type element) const = 0;
  /// The reason why our own code is at least as fast; empty: it is not.
  virtual llvm::StringRef reasonAgainst(const ProductSize &size) const = 0;
  /// Returns what may be done with a call.
  virtual CallFeatures featuresOf(const LibraryCall &call) const = 0;
  /// Whether it does one of these with a call.
  bool has(const LibraryCall &call, CallFeatures wanted) const {
    return any(featuresOf(call) & wanted);
  }
  /// Whether a result may be rounded to this type, of operands of that.
  virtual bool takesRounding(mlir::Type operands, mlir::Type rounded) const = 0;
  /// Finds the scratch of a call and, where that pays, other layouts for its
  /// tensors. Whether it can do the call.
  virtual bool choose(LibraryCall &call) const = 0;
  /// The reason why the library could not be asked, so that `choose` leaves
  /// calls as they are; empty: it was asked, or never needs to be.
  virtual std::string whyUnasked() const { return ""; }
  /// Whether it can convert tensors between layouts.
  virtual bool reorders() const = 0;
  /// The bytes of scratch if the library supports attention of this size in 16
  /// bits, without dropout.
  virtual std::optional<int64_t>
  attentionScratch(const AttentionSize &size) const = 0;
};

/// "onednn" or "cuda"; null for other names.
const Library *findLibrary(llvm::StringRef name);

} // namespace gradus
