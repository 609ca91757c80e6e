// Computes the initial values of states at compile time, so that devices need
// no generator and all start from the same numbers.

#include "codegen/artifact/initial_values.h"

#include "ir/evaluator/values_in_place.h"
#include "ir/philox.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace gradus;

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

/// Appends a number as a float of the given type.
void append(std::vector<char> &bytes, double number, FloatType type) {
  if (type.isF32()) { // by far the most common
    float narrow = static_cast<float>(number);
    const char *raw = reinterpret_cast<const char *>(&narrow);
    bytes.insert(bytes.end(), raw, raw + sizeof(narrow));
    return;
  }
  APFloat value(number);
  bool lost;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
  APInt bits = value.bitcastToAPInt();
  const char *raw = reinterpret_cast<const char *>(bits.getRawData());
  bytes.insert(bytes.end(), raw, raw + bits.getBitWidth() / 8);
}

void visitDrawn(StateOp state, uint64_t seed,
                llvm::function_ref<void(ArrayRef<char>)> visit) {
  constexpr size_t kPiece = 64 << 10;
  auto type = cast<RankedTensorType>(state.getType());
  double spread = spreadOf(state, type);
  bool normal = state.getInit()->getRule() == Initializer::normal;
  Philox stream(seed, state.getSymName());
  std::vector<char> piece;
  for (int64_t i = 0, n = type.getNumElements(); i < n; ++i) {
    append(piece,
           spread * (normal ? stream.normal(i) : stream.uniform(i) * 2 - 1),
           cast<FloatType>(type.getElementType()));
    if (piece.size() < kPiece && i + 1 < n)
      continue;
    visit(piece);
    piece.clear();
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
