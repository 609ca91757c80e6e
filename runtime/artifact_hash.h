// The hashes of an artifact, shared by its writer and its reader.
//
// Sections: hashBytes of their bytes. The header: hashBytes of the
// size-prefixed FlatBuffer with the eight bytes of the field `header_hash` read
// as zero. The writer stores any non-zero value in that field (FlatBuffers
// leaves out zeros; or uses ForceDefaults) and calls sealHeader on the finished
// buffer.

#pragma once

#include "runtime/artifact_generated.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gradus::artifact {

/// The value of Header.version for the artifacts that this schema describes.
constexpr auto kVersion = static_cast<uint32_t>(Version::current);

namespace detail {

inline uint64_t loadWord(const uint8_t *at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

inline uint64_t stir(uint64_t lane, uint64_t word) {
  constexpr uint64_t kFirst = 0x9E3779B185EBCA87u,
                     kSecond = 0xC2B2AE3D27D4EB4Fu;
  return std::rotl(lane + word * kSecond, 31) * kFirst;
}

inline uint64_t finish(uint64_t hash) {
  hash = (hash ^ (hash >> 33)) * 0xC2B2AE3D27D4EB4Fu;
  hash = (hash ^ (hash >> 29)) * 0x165667B19E3779F9u;
  return hash ^ (hash >> 32);
}

} // namespace detail

/// A hash of `size` bytes in which every flipped byte shows: each step is a
/// bijection of the lane for a given word. Four lanes, as XXH64 has. The bytes
/// may come in pieces, of which all but the last are a multiple of kBlock.
class BytesHash {
public:
  static constexpr size_t kBlock = 32;

  void add(const uint8_t *bytes, size_t size) {
    uint64_t lanes[4] = {lanes_[0], lanes_[1], lanes_[2], lanes_[3]};
    size_t at = 0;
    for (; at + kBlock <= size; at += kBlock)
      for (int lane = 0; lane < 4; ++lane)
        lanes[lane] =
            detail::stir(lanes[lane], detail::loadWord(bytes + at + 8 * lane));
    std::copy_n(lanes, 4, lanes_);
    size_ += size;
    rest_ = size - at;
    std::copy_n(bytes + at, rest_, last_);
  }

  uint64_t finish() const {
    uint64_t hash = detail::stir(0, size_);
    for (uint64_t lane : lanes_)
      hash = detail::stir(hash, lane);
    size_t at = 0;
    for (; at + 8 <= rest_; at += 8)
      hash = detail::stir(hash, detail::loadWord(last_ + at));
    for (; at < rest_; ++at)
      hash = detail::stir(hash, last_[at] + 1u);
    return detail::finish(hash);
  }

private:
  uint64_t lanes_[4] = {0x60EA27EEADC0B5D6u, 0xC2B2AE3D27D4EB4Fu, 0u,
                        0x61C8864E7A143579u};
  uint64_t size_ = 0;
  size_t rest_ = 0; // bytes of the last piece after its whole blocks
  uint8_t last_[kBlock] = {};
};

inline uint64_t hashBytes(const uint8_t *bytes, size_t size) {
  BytesHash hash;
  hash.add(bytes, size);
  return hash.finish();
}

/// The field `header_hash` inside its buffer; null if it was left out.
inline const uint8_t *headerHashField(const Header *header) {
  return reinterpret_cast<const flatbuffers::Table *>(header)->GetAddressOf(
      Header::VT_HEADER_HASH);
}

/// The hash of the size-prefixed header in `buffer`, with its own field read as
/// zero. Needs a verified header, or one just built.
inline uint64_t hashHeader(const uint8_t *buffer, size_t size) {
  const uint8_t *field = headerHashField(GetSizePrefixedHeader(buffer));
  size_t before = field ? field - buffer : size;
  size_t after = field ? before + sizeof(uint64_t) : size;
  uint64_t parts[2] = {hashBytes(buffer, before),
                       hashBytes(buffer + after, size - after)};
  return hashBytes(reinterpret_cast<const uint8_t *>(parts), sizeof(parts));
}

/// Writes the header's hash into a finished size-prefixed buffer. False if the
/// field was left out because it was zero when the header was built.
inline bool sealHeader(uint8_t *buffer, size_t size) {
  const uint8_t *field = headerHashField(GetSizePrefixedHeader(buffer));
  if (!field)
    return false;
  uint64_t hash = hashHeader(buffer, size);
  std::memcpy(buffer + (field - buffer), &hash, sizeof(hash));
  return true;
}

} // namespace gradus::artifact
