// Chooses layouts and scratch of calls for which cuBLASLt and cuDNN are known
// to be fast; nothing is measured here.

#include "codegen/libraries/cuda_libraries.h"

#include "codegen/libraries/blocked_tensor.h"
#include "codegen/plan/nest.h"

namespace gradus {
using namespace mlir;

namespace {

/// A launch takes as long as our own kernel for this many flops.
constexpr int64_t kMinimumFlops = 4'000'000;

/// Split-K algorithms keep partial sums in scratch; more than this is seldom
/// needed (NVIDIA recommends 32 MiB for cuBLASLt on Hopper).
constexpr int64_t kMaximumScratch = int64_t(32) << 20;

/// Tensor cores read 16-bit channels in groups of this size.
constexpr int64_t kChannelStep = 8;

/// The maximum number of score gradients at a time; larger batches are computed
/// in parts.
constexpr int64_t kMaximumScores = int64_t(1) << 30;

/// The head sizes that cuDNN's attention supports forward and backward on all
/// GPUs.
constexpr int64_t kMaximumHead = 128, kHeadStep = 8;

bool isConvolution(const LibraryCall &call) { return call.name != "matmul"; }

/// Whether the call is a matmul without a batch.
bool isOneProduct(const LibraryCall &call) {
  return !isConvolution(call) && call.result.dims.size() == 2;
}

/// Whether cuBLASLt can write gelu's input beside the result or read it: its
/// type must be that of the result, and its rows a multiple of 8.
bool hasGeluMatrix(const LibraryCall &call) {
  return isOneProduct(call) && call.result.dims[1] % 8 == 0 &&
         call.result.element == call.operands[0].element;
}

/// Whether the vectors of an operand that are summed along the contracted
/// dimension are contiguous: a transposed source, or plain weights. cuBLASLt's
/// BGRADA and BGRADB have no algorithm for other layouts.
bool isMadeOfSummands(const LibraryCall &call, unsigned operand) {
  const LibraryLayout &layout = call.operands[operand];
  LibraryLayout summands = operand == 0 ? transposedLayout(layout.dims)
                                        : rowMajorLayout(layout.dims);
  return layout == summands &&
         llvm::all_of(layout.dims, [](int64_t dim) { return dim > 1; });
}

int64_t bytesOf(const LibraryLayout &layout) {
  return layout.elements * gradus::bytesOf(layout.element);
}

/// The bytes of a copy with the channels padded to a multiple of
/// `kChannelStep`, which tensor core engines make of an image with three
/// channels.
int64_t paddedBytes(const LibraryLayout &layout) {
  int64_t channels = layout.dims[1];
  if (layout.element == LibraryElement::f32 || channels % kChannelStep == 0)
    return 0;
  return bytesOf(layout) / channels *
         ((channels + kChannelStep - 1) / kChannelStep * kChannelStep);
}

int64_t scratchFor(const LibraryCall &call) {
  int64_t bytes = bytesOf(call.result), padded = 0;
  for (const LibraryLayout &operand : call.operands)
    bytes += bytesOf(operand);
  if (isConvolution(call)) {
    padded = paddedBytes(call.result);
    for (const LibraryLayout &operand : call.operands)
      padded += paddedBytes(operand);
  }
  return (std::min(2 * bytes, kMaximumScratch) + padded) / 64 * 64;
}

/// The layout with contiguous channels, which tensor cores read: blocked with
/// all channels in one block.
LibraryLayout channelsLast(const LibraryLayout &layout) {
  LibraryLayout result = blockedLayout(layout.dims, layout.dims[1]);
  result.element = layout.element;
  return result;
}

/// Whether a 16-bit convolution may use it; weights with groups have too many
/// dimensions.
bool isChannelsLast(const LibraryCall &call) {
  constexpr int64_t mostChannels =
      4096; // of a block (runtime/artifact/verify_library.cpp)
  size_t rank = call.operands[0].dims.size();
  auto fits = [&](const LibraryLayout &layout) {
    return layout.element != LibraryElement::f32 &&
           layout.dims.size() == rank && layout.dims[1] <= mostChannels;
  };
  return rank > 3 && llvm::all_of(call.operands, fits) && fits(call.result);
}

/// The size of equal parts of at most `most` each.
int64_t partOf(int64_t all, int64_t most) {
  int64_t parts = llvm::divideCeil(all, most);
  return llvm::divideCeil(all, parts);
}

/// The number of heads whose gradients are computed at once: those of some
/// sequences of the batch, or some of a sequence's `heads`.
int64_t headsAtOnce(int64_t sequences, int64_t heads, int64_t most) {
  return most >= heads ? partOf(sequences, most / heads) * heads
                       : partOf(heads, std::max<int64_t>(1, most));
}

class CudaLibraries final : public Library {
public:
  bool accepts(Type element) const override {
    return element.isF32() || element.isBF16() || element.isF16();
  }

  StringRef reasonAgainst(const ProductSize &size) const override {
    if (size.flops < kMinimumFlops)
      return "it is small";
    return size.narrowest < 2 ? "it is narrow" : "";
  }

  CallFeatures featuresOf(const LibraryCall &call) const override {
    // cuDNN would compile epilogues at load, and has no convolution of 16 bits
    // with a result of 32.
    if (isConvolution(call))
      return CallFeatures::roundedResult | CallFeatures::behindViews;
    using enum CallFeatures;
    auto sum = [&](unsigned operand, CallFeatures feature) {
      return isMadeOfSummands(call, operand) ? feature : none;
    };
    bool isPlain = call.operands.size() == 2;
    CallFeatures features = bias | relu | geluTanh | behindViews;
    if (hasGeluMatrix(call))
      features |= geluInput | (isPlain ? geluGradient : none);
    if (isOneProduct(call) && isPlain && call.activation.empty())
      features |= sum(0, sourceSum) | sum(1, weightsSum);
    return features;
  }

  bool takesRounding(Type operands, Type rounded) const override {
    return operands == rounded;
  }

  /// Operands are of one type.
  bool choose(LibraryCall &call) const override {
    if (call.operands[0].element != call.operands[1].element)
      return false;
    if (isConvolution(call) && isChannelsLast(call)) {
      for (LibraryLayout &operand : call.operands)
        operand = channelsLast(operand);
      call.result = channelsLast(call.result);
    }
    if (call.operands.size() > 2) // cuBLASLt supports no other type
      call.operands[2].element = call.result.element;
    call.scratch = scratchFor(call);
    return true;
  }

  bool reorders() const override { return false; }

  /// For the gradient cuDNN keeps the 16-bit gradients of all scores, in tiles:
  /// so its sums have a fixed order, and two runs give the same bits. If these
  /// are too large it is called for parts of the batch, or of the heads of one
  /// sequence, one after another (runtime/cuda/libraries/cudnn.cpp).
  std::optional<int64_t>
  attentionScratch(const AttentionSize &size) const override {
    int64_t head = size.query[3];
    if (head != size.value[3] || head % kHeadStep != 0 || head > kMaximumHead)
      return std::nullopt;
    constexpr int64_t little = 4096, some = 2 << 20;
    auto tiles = [](int64_t tokens) { return (tokens + 127) / 128 * 128; };
    int64_t ofHead = 2 * tiles(size.query[2]) * (tiles(size.key[2]) + 2),
            atOnce = headsAtOnce(size.query[0], size.query[1],
                                 kMaximumScores / ofHead);
    return size.isBackward ? atOnce * ofHead + some : little;
  }
};

} // namespace

const Library &cudaLibraries() {
  static const CudaLibraries library;
  return library;
}

} // namespace gradus
