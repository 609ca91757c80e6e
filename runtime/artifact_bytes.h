// The bytes of an artifact in memory of our own, each at its offset in the
// file.
//
// What happens to the file later changes nothing: all that is used has been
// copied. Weights alone are left in the file, since they would take twice their
// memory: read() copies them when states are made of them, and who reads them
// checks what it got. The file stays open for that, so it may be removed or
// replaced.

#pragma once

#include "runtime/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gradus::runtime {

class ArtifactBytes {
public:
  /// Opens a file. Nothing of it is in memory before load().
  static StatusOr<ArtifactBytes> open(const std::string &path);
  /// All of it from the caller's memory.
  static StatusOr<ArtifactBytes> copyOf(std::span<const uint8_t> bytes);
  ArtifactBytes(ArtifactBytes &&other) noexcept;
  ArtifactBytes &operator=(ArtifactBytes &&) = delete;
  ~ArtifactBytes();

  size_t size() const { return size_; }
  /// At the offsets of the file; what was not loaded must not be touched.
  std::span<const uint8_t> all() const { return {data_, size_}; }
  /// Puts a part of the file, which lies within its size, into memory.
  Status load(size_t offset, size_t size);
  /// Copies a part, which lies within its size, from the file as it is now.
  Status read(size_t offset, std::span<uint8_t> to) const;

private:
  ArtifactBytes() = default;
  Status reserve(size_t size);
  uint8_t *data_ = nullptr;
  size_t size_ = 0;
  int descriptor_ = -1; // -1: all is in memory
};

} // namespace gradus::runtime
