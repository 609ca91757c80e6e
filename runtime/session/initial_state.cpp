// Initial weights and fills.

#include "runtime/session/initial_state.h"

#include "runtime/artifact_hash.h"
#include "runtime/flat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace gradus::runtime {

namespace {

template <typename T> void fill(void *data, size_t count, T value) {
  std::fill_n(static_cast<T *>(data), count, value);
}

/// The nearest bf16, ties to even; NaN stays NaN.
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

/// The bytes that are prepared in host memory and written at once.
constexpr size_t kPiece = 64 << 10;

/// Fills `bytes` bytes at an offset of the states with `value`.
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

/// The initial values of a state, as a range of the weights.
struct Initial {
  uint64_t begin, end;
  uint64_t offset; // the destination among the states
};

/// The range of the weights that a rank has of a state. The artifact was
/// verified, so the whole lies within the weights.
Initial initialOf(const artifact::State &state, uint64_t offset, int64_t rank) {
  uint64_t begin = state.initial(), bytes = *bytesOf(typeOf(state.type()));
  if (!state.whole())
    return {begin, begin + bytes, offset};
  uint64_t whole = *bytesOf(typeOf(state.whole())),
           before = static_cast<uint64_t>(rank),
           first = bytes && before <= whole / bytes ? before * bytes : whole;
  return {begin + first, begin + first + std::min(bytes, whole - first),
          offset};
}

/// The initial values in the order of their start; states may share them.
std::vector<Initial> initialsOf(const artifact::Header &header,
                                const artifact::Plan &plan, int64_t rank) {
  std::vector<Initial> initials;
  for (size_t i = 0; i < countOf(header.states()); ++i) {
    const artifact::State *state = header.states()->Get(i);
    if (!state->has_initial())
      continue;
    Initial own = initialOf(*state, plan.state_offsets()->Get(i), rank);
    if (own.begin < own.end)
      initials.push_back(own);
  }
  std::sort(initials.begin(), initials.end(),
            [](const Initial &one, const Initial &other) {
              return one.begin < other.begin;
            });
  return initials;
}

/// Writes the part of a piece of the weights, which starts at `begin`, that
/// belongs to states.
Status writePiece(DevicePlan &device, std::span<const Initial> initials,
                  uint64_t begin, std::span<const uint8_t> piece) {
  uint64_t end = begin + piece.size();
  for (const Initial &initial : initials) {
    if (initial.begin >= end)
      break;
    uint64_t from = std::max(begin, initial.begin),
             to = std::min(end, initial.end);
    if (from < to)
      GRADUS_TRY(device.write(artifact::Region::state,
                              initial.offset + (from - initial.begin),
                              piece.subspan(from - begin, to - from)));
  }
  return Status();
}

Status writeWeights(const Artifact &artifact, const artifact::Plan &plan,
                    DevicePlan &device, int64_t rank) {
  auto initials = initialsOf(artifact.header(), plan, rank);
  size_t first = 0; // the first that has not ended
  return artifact.readWeights([&](uint64_t begin, auto piece) {
    while (first < initials.size() && initials[first].end <= begin)
      ++first;
    return writePiece(device, std::span(initials).subspan(first), begin, piece);
  });
}

} // namespace

Status initialiseStates(const Artifact &artifact, const artifact::Plan &plan,
                        DevicePlan &device, int64_t rank) {
  const artifact::Header &header = artifact.header();
  for (size_t i = 0; i < countOf(header.states()); ++i) {
    const artifact::State *state = header.states()->Get(i);
    TensorType type = typeOf(state->type());
    if (!state->has_initial() && state->fill() != 0) // NaN is not 0 either
      GRADUS_TRY(writeFill(device, plan.state_offsets()->Get(i), *bytesOf(type),
                           type.dtype, state->fill()));
  }
  return writeWeights(artifact, plan, device, rank);
}

Status resetStates(const Artifact &artifact, const artifact::Plan &plan,
                   DevicePlan &device, int64_t rank) {
  GRADUS_TRY(artifact.verifyWeights());
  GRADUS_TRY(writeFill(device, 0, plan.state_bytes(), artifact::DType::u8, 0));
  return initialiseStates(artifact, plan, device, rank);
}

//===-- hashes ------------------------------------------------------------===//

namespace {

/// Hashes bytes that come in pieces of any size.
class PiecesHash {
public:
  void add(std::span<const uint8_t> bytes) {
    constexpr size_t kBlock = artifact::BytesHash::kBlock;
    rest_.insert(rest_.end(), bytes.begin(), bytes.end());
    size_t whole = rest_.size() / kBlock * kBlock;
    hash_.add(rest_.data(), whole);
    rest_.erase(rest_.begin(),
                rest_.begin() + static_cast<std::ptrdiff_t>(whole));
  }

  uint64_t finish() {
    hash_.add(rest_.data(), rest_.size());
    return hash_.finish();
  }

private:
  artifact::BytesHash hash_;
  std::vector<uint8_t> rest_; // less than a block, which the next piece fills
};

/// The hash of a whole that is full of one value.
uint64_t hashOfFill(TensorType type, double value) {
  size_t bytes = *bytesOf(type);
  std::vector<uint8_t> piece(std::min(bytes, kPiece));
  fillWith(type.dtype, piece.data(), piece.size() / bytesOf(type.dtype), value);
  PiecesHash hash;
  for (size_t done = 0; done < bytes; done += piece.size())
    hash.add(std::span(piece).first(std::min(piece.size(), bytes - done)));
  return hash.finish();
}

/// A whole among the weights.
struct HashedWhole {
  uint64_t begin, end;
  PiecesHash hash;
};

} // namespace

Status hashWholes(const Artifact &artifact, HostStates &states) {
  std::map<size_t, HashedWhole> inWeights; // by the numbers of states
  for (size_t i = 0; i < countOf(artifact.header().states()); ++i) {
    const artifact::State &state = *artifact.header().states()->Get(i);
    if (!state.whole() || state.role() != artifact::Role::fixed)
      continue;
    TensorType type = typeOf(state.whole());
    if (state.has_initial())
      inWeights[i] = {state.initial(), state.initial() + *bytesOf(type), {}};
    else
      states.setFixedHash(i, hashOfFill(type, state.fill()));
  }
  if (inWeights.empty())
    return Status();
  GRADUS_TRY(artifact.readWeights([&](uint64_t begin, auto piece) {
    for (auto &[number, whole] : inWeights) {
      uint64_t from = std::max(begin, whole.begin),
               to = std::min(begin + piece.size(), whole.end);
      if (from < to)
        whole.hash.add(piece.subspan(from - begin, to - from));
    }
    return Status();
  }));
  for (auto &[number, whole] : inWeights)
    states.setFixedHash(number, whole.hash.finish());
  return Status();
}

} // namespace gradus::runtime
