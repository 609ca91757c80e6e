// Computes the initial values of states at compile time, so that devices need
// no generator and all start from the same numbers.

#include "codegen/artifact/initial_values.h"

#include "codegen/plan/parallel.h"
#include "ir/evaluator/values_in_place.h"
#include "ir/philox.h"
#include "passes/state.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace gradus;

RankedTensorType gradus::wholeType(StateOp state) {
  auto whole = state->getAttrOfType<TypeAttr>(kPartOf);
  return cast<RankedTensorType>(whole ? whole.getValue() : state.getType());
}

std::optional<double> gradus::uniformValue(StateOp state) {
  if (auto value = dyn_cast_or_null<DenseElementsAttr>(state.getValueAttr())) {
    if (!value.isSplat())
      return std::nullopt;
    if (auto real = dyn_cast<FloatType>(value.getElementType()))
      return value.getSplatValue<APFloat>().convertToDouble();
    return static_cast<double>(value.getSplatValue<APInt>().getSExtValue());
  }
  if (state.getValueAttr() || !state.getInit())
    return std::nullopt;
  if (state.getInit()->getRule() == Initializer::zeros)
    return 0.0;
  if (state.getInit()->getRule() == Initializer::constant)
    return state.getInit()->getValue().getValueAsDouble();
  return std::nullopt;
}

namespace {

/// The fan-in and fan-out of a weight.
std::pair<double, double> fans(RankedTensorType type) {
  if (type.getRank() < 2)
    return {type.getNumElements(), type.getNumElements()};
  double window = 1;
  for (int64_t extent : type.getShape().drop_front(2))
    window *= extent;
  return {type.getDimSize(1) * window, type.getDimSize(0) * window};
}

/// The half-width of the uniform interval, or the standard deviation of the
/// normal distribution.
double spreadOf(StateOp state, RankedTensorType type) {
  InitAttr init = *state.getInit();
  double value = init.getValue() ? init.getValue().getValueAsDouble() : 1.0;
  auto [in, out] = fans(type);
  switch (init.getRule()) {
  case Initializer::kaiming_uniform:
    return value * std::sqrt(1.0 / in);
  case Initializer::xavier_uniform:
    return value * std::sqrt(6.0 / (in + out));
  default:
    return value;
  }
}

/// The numbers of a state that is drawn; each is a function of its place.
class Draws {
public:
  Draws(StateOp state, RankedTensorType type, uint64_t seed)
      : stream_(seed, state.getSymName()), spread_(spreadOf(state, type)),
        isNormal_(state.getInit()->getRule() == Initializer::normal) {}

  /// Writes the numbers from the place `first` on.
  template <typename T>
  void write(uint64_t first, MutableArrayRef<T> numbers) const {
    for (size_t begin = 0; begin < numbers.size(); begin += Philox::kLanes) {
      Philox::Lanes words = stream_.lanes(first + begin);
      size_t count = std::min(numbers.size() - begin, Philox::kLanes);
      for (size_t i = 0; i < count; ++i)
        numbers[begin + i] = static_cast<T>(
            spread_ *
            (isNormal_
                 ? Philox::normalOf(words.low[i], words.high[i])
                 : Philox::uniformOf(words.low[i], words.high[i]) * 2 - 1));
    }
  }

private:
  Philox stream_;
  double spread_;
  bool isNormal_;
};

/// Writes numbers of `draws` from the place `first` on as floats of the given
/// type.
void writePiece(const Draws &draws, uint64_t first, FloatType type,
                MutableArrayRef<char> bytes) {
  if (type.isF32()) { // by far the most common
    SmallVector<float> numbers(bytes.size() / sizeof(float));
    draws.write<float>(first, numbers);
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return;
  }
  size_t width = type.getWidth() / 8;
  SmallVector<double> numbers(bytes.size() / width);
  draws.write<double>(first, numbers);
  for (auto [i, number] : llvm::enumerate(numbers)) {
    APFloat value(number);
    bool lost;
    value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &lost);
    std::memcpy(bytes.data() + i * width, value.bitcastToAPInt().getRawData(),
                width);
  }
}

/// Draws the bytes in blocks, whose pieces several threads write.
void visitDrawn(StateOp state, uint64_t seed,
                llvm::function_ref<void(ArrayRef<char>)> visit) {
  constexpr uint64_t kPiece = 16 << 10, kBlock = 64 * kPiece; // numbers
  RankedTensorType type = wholeType(state);
  auto real = cast<FloatType>(type.getElementType());
  Draws draws(state, type, seed);
  uint64_t width = real.getWidth() / 8, all = type.getNumElements();
  std::vector<char> block(std::min(all, kBlock) * width);
  for (uint64_t begin = 0; begin < all; begin += kBlock) {
    uint64_t count = std::min(all - begin, kBlock);
    parallelFor(llvm::divideCeil(count, kPiece), [&](size_t piece) {
      uint64_t first = piece * kPiece, size = std::min(count - first, kPiece);
      writePiece(draws, begin + first, real,
                 MutableArrayRef(block).slice(first * width, size * width));
    });
    visit(ArrayRef(block).take_front(count * width));
  }
}

} // namespace

void gradus::visitInitialBytes(StateOp state, uint64_t seed,
                               llvm::function_ref<void(ArrayRef<char>)> visit) {
  if (ElementsAttr value = state.getValueAttr())
    visit(bytesOfValues(value));
  else
    visitDrawn(state, seed, visit);
}

std::vector<char> gradus::initialBytes(StateOp state, uint64_t seed) {
  std::vector<char> bytes;
  visitInitialBytes(state, seed, [&](ArrayRef<char> piece) {
    llvm::append_range(bytes, piece);
  });
  return bytes;
}
