// All states share one list of random numbers and begin at different places of
// it: drawing billions of numbers would take longer than the measurement.

#include "tool/session/random_states.h"

#include "runtime/artifact_hash.h"
#include "runtime/session/initial_state.h"
#include "tool/failure.h"
#include "training/data/shuffle.h"

#include <cmath>

using namespace gradus::runtime;

namespace gradus::cli {
namespace {

/// The numbers of a state lie in [least, least + width).
struct Range {
  double least, width;
};

Range around(double middle, double distance) {
  return {middle - distance, 2 * distance};
}

bool endsWith(const std::string &name, const std::string &end) {
  return name.size() >= end.size() &&
         name.compare(name.size() - end.size(), end.size(), end) == 0;
}

Range rangeOf(const StateInfo &state) {
  constexpr double kMostOfSlots = 1e-6;
  if (state.role == artifact::Role::slot)
    return {0, kMostOfSlots};
  const std::vector<int64_t> &shape = state.type.shape;
  if (shape.size() < 2)
    return endsWith(state.name, "bias") || endsWith(state.name, "beta")
               ? around(0, 0.1)
               : around(1, 0.5);
  double row = 1;
  for (size_t axis = 1; axis < shape.size(); ++axis)
    row *= static_cast<double>(shape[axis]);
  return around(0, 1 / std::sqrt(std::max(1.0, row)));
}

/// A slot of one number counts or scales something.
bool isRandom(const StateInfo &state) {
  bool isOne =
      state.role == artifact::Role::parameter ||
      (state.role == artifact::Role::slot && !state.type.shape.empty());
  DType dtype = state.type.dtype;
  return isOne && (dtype == DType::f32 || dtype == DType::f64 ||
                   dtype == DType::f16 || dtype == DType::bf16);
}

/// Returns numbers in [0, 1), a prime number of them, so that rows differ.
const std::vector<double> &fractions() {
  static const std::vector<double> numbers = [] {
    std::vector<double> made((1 << 20) - 3);
    for (size_t i = 0; i < made.size(); ++i)
      made[i] = static_cast<double>(data::drawOf(0, 0, i) >> 11) * 0x1p-53;
    return made;
  }();
  return numbers;
}

} // namespace

std::vector<uint8_t> randomState(const StateInfo &state) {
  if (!isRandom(state))
    return {};
  const std::vector<double> &numbers = fractions();
  size_t at =
      artifact::hashBytes(reinterpret_cast<const uint8_t *>(state.name.data()),
                          state.name.size()) %
      numbers.size();
  Range range = rangeOf(state);
  std::vector<uint8_t> bytes(state.bytes);
  size_t unit = bytesOf(state.type.dtype);
  for (size_t i = 0; i < bytes.size(); i += unit) {
    fillWith(state.type.dtype, &bytes[i], 1,
             range.least + range.width * numbers[at]);
    at = at + 1 == numbers.size() ? 0 : at + 1;
  }
  return bytes;
}

void randomizeStates(Session &session) {
  for (size_t i = 0; i < session.states().size(); ++i)
    if (auto bytes = randomState(session.states()[i]); !bytes.empty())
      check(session.writeState(static_cast<int>(i), bytes));
}

} // namespace gradus::cli
