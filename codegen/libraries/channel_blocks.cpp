// The times are those by the rates that the choice of Winograd's algorithm
// assumes, too; docs/internals/performance_between.md has what was measured.

#include "codegen/libraries/channel_blocks.h"

#include "codegen/plan/nest.h"
#include "codegen/plan/winograd_tiles.h"
#include "runtime/rates.h"

#include "llvm/Support/MathExtras.h"

#include <array>
#include <numeric>

namespace gradus {
using namespace mlir;

bool mayHaveBlocksOf8(ProgramOp program) {
  auto found = program.walk([](ConvolutionOp op) {
    ArrayRef<int64_t> weight = shapeOf(op.getWeight());
    int64_t common = std::gcd(weight[0] / int64_t(op.getGroups()), weight[1]);
    return common % 8 == 0 && common % 16 ? WalkResult::interrupt()
                                          : WalkResult::advance();
  });
  return found.wasInterrupted();
}

/// Blocks of 8 are for windows in two dimensions without gaps, of f32: for
/// others the library has no kernels, or slow ones.
static bool mayBeBlocked(const ProductSize &size) {
  return size.taps > 0 && size.windowDims == 2 && !size.isDilated &&
         !size.is16Bits;
}

static bool fills(const ProductSize &size, int64_t block) {
  int64_t channels = size.isDepthwise ? size.channels : size.channelsInCommon;
  return channels % block == 0;
}

/// The tensors that have channels, beside the weights.
static std::array<ArrayRef<int64_t>, 2> activationsOf(const Candidate &found) {
  return {found.call.operands[0].dims, found.size.givesWeights
                                           ? found.call.operands[1].dims
                                           : found.call.result.dims};
}

void addConvolution(BlockTimes &times, const Candidate &found,
                    bool isWinograds) {
  constexpr double rate = kUsualRates.flops, ofMultiplications = 0.25;
  constexpr int64_t narrow = 32; // below our own code computes groups
  const ProductSize &size = found.size;
  if (!mayBeBlocked(size) || size.isDepthwise || !fills(size, 8))
    return; // it is the same with both
  double direct = size.flops / (kConvolutionShare * rate);
  times.of8 += direct;
  if (isWinograds) {
    times.of16 += ofMultiplications * size.flops / (kWinogradShare * rate);
    return;
  }
  if (size.isGrouped && fills(size, 16)) {
    times.of16 += direct;
    return;
  }
  if (size.isGrouped && size.narrowest < narrow) {
    times.of16 += size.flops / (kKernelShare * rate);
    return;
  }
  double padding = 1, reordered = 0;
  for (ArrayRef<int64_t> dims : activationsOf(found))
    if (size.isGrouped || dims[1] % 16) {
      reordered += 2 * 4.0 * product(dims); // read and written
      if (!size.isGrouped)
        padding *= double(llvm::alignTo(dims[1], 16)) / dims[1];
    }
  times.of16 += direct * padding + reordered / kUsualRates.bytes;
}

bool prefersBlocksOf8(const BlockTimes &times) {
  constexpr double saving = 0.15; // for blocks of 8 that are slower elsewhere
  return times.of8 < (1 - saving) * times.of16;
}

void useBlocksOf8(Candidate &found) {
  if (!mayBeBlocked(found.size))
    return;
  bool areFilled = fills(found.size, 8);
  if (areFilled)
    found.size.channelBlock = 8;
  if (areFilled || !found.size.isGrouped)
    found.call.channelBlock = 8; // of a stem, the result has such blocks
}

} // namespace gradus
