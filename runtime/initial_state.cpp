// Initial weights and fills.

#include "runtime/initial_state.h"

#include "runtime/flat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace gradus::runtime {

namespace {

template <typename T> void fill(void *data, size_t count, T value) {
  std::fill_n(static_cast<T *>(data), count, value);
}

/// Nearest bf16, ties to even; not-a-number stays one.
uint16_t toBf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <typename T> T toWhole(double value) {
  // The upper limit as a double may be one too large, hence the exponent.
  constexpr int kBits = std::numeric_limits<T>::digits;
  bool fits = value >= static_cast<double>(std::numeric_limits<T>::min()) &&
              value < std::ldexp(1.0, kBits);
  return fits ? static_cast<T>(value) : T{0};
}

} // namespace

void fillWith(artifact::DType dtype, void *data, size_t count, double value) {
  switch (dtype) {
  case DType::f32:
    return fill(data, count, static_cast<float>(value));
  case DType::f64:
    return fill(data, count, value);
  case DType::f16:
    return fill(data, count, static_cast<_Float16>(value));
  case DType::bf16:
    return fill(data, count, toBf16(static_cast<float>(value)));
  case DType::i8:
    return fill(data, count, toWhole<int8_t>(value));
  case DType::u8:
    return fill(data, count, toWhole<uint8_t>(value));
  case DType::i32:
    return fill(data, count, toWhole<int32_t>(value));
  case DType::i64:
    return fill(data, count, toWhole<int64_t>(value));
  case DType::i16:
    return fill(data, count, toWhole<int16_t>(value));
  case DType::u16:
    return fill(data, count, toWhole<uint16_t>(value));
  case DType::u32:
    return fill(data, count, toWhole<uint32_t>(value));
  case DType::u64:
    return fill(data, count, toWhole<uint64_t>(value));
  case DType::boolean:
    return fill(data, count, static_cast<uint8_t>(value != 0));
  }
}

namespace {

/// What is written at once, and made in the host's memory before.
constexpr size_t kPiece = 64 << 10;

/// `bytes` of `value` at an offset of the states.
Status writeFill(DevicePlan &device, uint64_t offset, size_t bytes,
                 artifact::DType dtype, double value) {
  std::vector<uint8_t> piece(std::min(bytes, kPiece));
  fillWith(dtype, piece.data(), piece.size() / bytesOf(dtype), value);
  for (size_t done = 0; done < bytes; done += piece.size())
    GRADUS_TRY(device.write(
        artifact::Region::state, offset + done,
        std::span(piece).first(std::min(piece.size(), bytes - done))));
  return Status();
}

} // namespace

Status initialiseStates(const Artifact &artifact, const artifact::Plan &plan,
                        DevicePlan &device) {
  const artifact::Header &header = artifact.header();
  auto weights = artifact.bytes(header.weights());
  for (size_t i = 0; i < countOf(header.states()); ++i) {
    const artifact::State *state = header.states()->Get(i);
    TensorType type = typeOf(state->type());
    size_t bytes = *bytesOf(type);
    uint64_t offset = plan.state_offsets()->Get(i);
    if (bytes == 0)
      continue;
    if (state->has_initial())
      GRADUS_TRY(device.write(artifact::Region::state, offset,
                              weights.subspan(state->initial(), bytes)));
    else if (state->fill() != 0) // NaN is not 0 either
      GRADUS_TRY(writeFill(device, offset, bytes, type.dtype, state->fill()));
  }
  return Status();
}

Status resetStates(const Artifact &artifact, const artifact::Plan &plan,
                   DevicePlan &device) {
  GRADUS_TRY(writeFill(device, 0, plan.state_bytes(), artifact::DType::u8, 0));
  return initialiseStates(artifact, plan, device);
}

} // namespace gradus::runtime
