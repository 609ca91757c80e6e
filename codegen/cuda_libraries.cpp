// Layouts and scratch of calls by what cuBLASLt and cuDNN are known to be fast
// with; nothing of it is measured here.

#include "codegen/cuda_libraries.h"

#include "codegen/blocked_tensor.h"
#include "codegen/nest.h"

namespace gradus {
using namespace mlir;

namespace {

/// A launch takes as long as our own code for so much.
constexpr int64_t leastFlops = 4'000'000;

/// Splits of long sums keep partial results in scratch; more than this is
/// seldom asked for (NVIDIA recommends 32 MiB for cuBLASLt on Hopper).
constexpr int64_t mostScratch = int64_t(32) << 20;

/// Tensor cores read channels of 16 bits in groups of so many.
constexpr int64_t channelStep = 8;

/// For gradients of attention's scores; batches that have more are computed in
/// parts.
constexpr int64_t mostScores = int64_t(1) << 30;

/// Heads that cuDNN's attention takes forward and backward on all cards.
constexpr int64_t mostHead = 128, headStep = 8;

bool isConvolution(const LibraryCall &call) { return call.name != "matmul"; }

/// Without a batch.
bool isOneProduct(const LibraryCall &call) {
  return !isConvolution(call) && call.result.dims.size() == 2;
}

/// Whether cuBLASLt reads and writes what gelu is of beside a result: in the
/// type of all others, with rows of a multiple of 8.
bool hasGeluMatrix(const LibraryCall &call) {
  return isOneProduct(call) && call.result.dims[1] % 8 == 0 &&
         call.result.element == call.operands[0].element;
}

/// Whether an operand is vectors, each in one piece, that its sum along what is
/// multiplied adds up: a transposed source, or weights as they are. cuBLASLt's
/// BGRADA and BGRADB have no algorithm for others.
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

/// Bytes of a copy with zeros for the channels that are missing to a multiple
/// of `channelStep`, as engines with tensor cores make of an image with three.
int64_t paddedBytes(const LibraryLayout &layout) {
  int64_t channels = layout.dims[1];
  if (layout.element == LibraryElement::f32 || channels % channelStep == 0)
    return 0;
  return bytesOf(layout) / channels *
         ((channels + channelStep - 1) / channelStep * channelStep);
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
  return (std::min(2 * bytes, mostScratch) + padded) / 64 * 64;
}

/// The last dimension's elements next to each other are the channels: what
/// tensor cores read. A layout of one block that has all channels.
LibraryLayout channelsLast(const LibraryLayout &layout) {
  LibraryLayout result = blockedLayout(layout.dims, layout.dims[1]);
  result.element = layout.element;
  return result;
}

/// In 16 bits; groups of weights are a dimension too many.
bool isChannelsLast(const LibraryCall &call) {
  constexpr int64_t mostChannels =
      4096; // of a block (runtime/verify_library.cpp)
  size_t rank = call.operands[0].dims.size();
  auto fits = [&](const LibraryLayout &layout) {
    return layout.element != LibraryElement::f32 &&
           layout.dims.size() == rank && layout.dims[1] <= mostChannels;
  };
  return rank > 3 && llvm::all_of(call.operands, fits) && fits(call.result);
}

/// Returns the size of equal parts of at most so many each.
int64_t partOf(int64_t all, int64_t most) {
  int64_t parts = llvm::divideCeil(all, most);
  return llvm::divideCeil(all, parts);
}

/// Counts the heads whose gradients are computed at once: parts of a batch of
/// sequences with `heads` each, or of one sequence's heads.
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
    if (size.flops < leastFlops)
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
    if (call.operands.size() > 2) // cuBLASLt knows no other
      call.operands[2].element = call.result.element;
    call.scratch = scratchFor(call);
    return true;
  }

  bool reorders() const override { return false; }

  /// Backward cuDNN keeps the gradients of all scores, in 16 bits and by tiles:
  /// so its sums have one order, and two runs the same bits. Where that is much
  /// it is asked for parts of the batch, or of the heads of one sequence, one
  /// after the other (runtime/cuda/cudnn.cpp).
  std::optional<int64_t>
  attentionScratch(const AttentionSize &size) const override {
    int64_t head = size.query[3];
    if (head != size.value[3] || head % headStep != 0 || head > mostHead)
      return std::nullopt;
    constexpr int64_t little = 4096, some = 2 << 20;
    auto tiles = [](int64_t tokens) { return (tokens + 127) / 128 * 128; };
    int64_t ofHead = 2 * tiles(size.query[2]) * (tiles(size.key[2]) + 2),
            atOnce =
                headsAtOnce(size.query[0], size.query[1], mostScores / ofHead);
    return size.isBackward ? atOnce * ofHead + some : little;
  }
};

} // namespace

const Library &cudaLibraries() {
  static const CudaLibraries library;
  return library;
}

} // namespace gradus
