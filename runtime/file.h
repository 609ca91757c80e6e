// Files: mapped for reading, or written so that a crash leaves the old or the
// new one, never a part.

#pragma once

#include "runtime/status.h"

#include <cstdint>
#include <span>
#include <string>

namespace gradus::runtime {

/// A whole file, mapped read-only. Changing the file while it is mapped is the
/// caller's mistake; replacing it (as AtomicFile does) is fine.
class MappedFile {
public:
  static StatusOr<MappedFile> open(const std::string &path);
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  std::span<const uint8_t> bytes() const { return bytes_; }

  /// Gives the memory of a part back; reading it again reads the file.
  static void release(std::span<const uint8_t> part);

private:
  MappedFile() = default;
  std::span<const uint8_t> bytes_;
};

/// Writes `path` by way of `path`.partial: create, write..., commit. Without a
/// commit nothing is left of it. A link stays: the file that it names is the
/// one written. What is no file (a device, a directory, a pipe) is never
/// replaced.
class AtomicFile {
public:
  static StatusOr<AtomicFile> create(const std::string &path);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  Status write(const void *data, size_t size);
  /// On disk, under its name, when this returns.
  Status commit();

private:
  AtomicFile() = default;
  std::string path_;   // as given
  std::string target_; // where its links lead
  int descriptor_ = -1;
};

/// Makes `to` another name of the file `from` (of what it leads to, if a link),
/// in place of what had that name. On disk when this returns.
Status linkFile(const std::string &from, const std::string &to);

} // namespace gradus::runtime
