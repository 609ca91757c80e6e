// The bytes of an artifact in our own memory, each at its offset in the file.
//
// Later changes of the file have no effect: all that is used has been copied.
// Only the weights are left in the file, since they would need twice their
// memory: read() copies them when states are initialised, and its callers check
// what they got. The file stays open for that, so it may be removed or
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
  /// Opens a file. Nothing is in memory before load().
  static StatusOr<ArtifactBytes> open(const std::string &path);
  /// Copies a whole artifact from the caller's memory.
  static StatusOr<ArtifactBytes> copyOf(std::span<const uint8_t> bytes);
  ArtifactBytes(ArtifactBytes &&other) noexcept;
  ArtifactBytes &operator=(ArtifactBytes &&) = delete;
  ~ArtifactBytes();

  size_t size() const { return size_; }
  /// The bytes at their offsets in the file; parts that were not loaded must
  /// not be touched.
  std::span<const uint8_t> all() const { return {data_, size_}; }
  /// Loads a part of the file, which must be within its size, into memory.
  Status load(size_t offset, size_t size);
  /// Copies a part, which must be within the file's size, from the file as it
  /// is now.
  Status read(size_t offset, std::span<uint8_t> to) const;

private:
  ArtifactBytes() = default;
  Status reserve(size_t size);
  uint8_t *data_ = nullptr;
  size_t size_ = 0;
  int descriptor_ = -1; // -1: all is in memory
};

} // namespace gradus::runtime
