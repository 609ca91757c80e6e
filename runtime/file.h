// Files: mapped for reading, or written so that a crash leaves the old or the
// new one, never a part, and two writers never mix.

#pragma once

#include "runtime/status.h"

#include <cstdint>
#include <span>
#include <string>

namespace gradus::runtime {

/// The last system error as words, "PATH: cannot WHAT: Permission denied", and
/// as a mistake of the user's or a failure of the machine.
Status systemError(const std::string &path, const char *what);

/// A whole file, mapped read-only. Changing the file while it is mapped is the
/// caller's mistake; replacing it (as AtomicFile does) is fine.
class MappedFile {
public:
  static StatusOr<MappedFile> open(const std::string &path);
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  std::span<const uint8_t> bytes() const { return bytes_; }

private:
  MappedFile() = default;
  std::span<const uint8_t> bytes_;
};

/// Behind a file's name until it is whole. No other program has reason to give
/// such names.
constexpr const char *kPartialEnding = ".gradus-partial";

/// The name under which a file is made: beside what the links of `path` lead
/// to.
std::string partialNameOf(const std::string &path);

/// Keeps other processes from writing a file, from before it is there until
/// this ends: a training run has its checkpoint for itself. The system's lock
/// on the file ends with the process, however that ends, and needs no file of
/// its own: where there is none to lock yet, the empty one at partialNameOf is
/// locked until AtomicFile makes the file of it.
class FileHold {
public:
  /// Fails where another process holds or writes the file, and says which; for
  /// no other reason.
  static StatusOr<FileHold> take(const std::string &path);
  FileHold(FileHold &&other) noexcept;
  FileHold &operator=(FileHold &&other) noexcept;
  ~FileHold();

  /// Why nothing is held: the file system has no locks, or the file cannot be
  /// written, which AtomicFile says in its own words; empty: it is held.
  const std::string &weakness() const { return weakness_; }

private:
  friend class AtomicFile;
  FileHold() = default;
  enum class Found {
    settled, // it is held, or there is a reason why not
    nothing, // the file is not there
    another, // it has been made or replaced meanwhile: look again
  };
  StatusOr<Found> takeTarget(const std::string &path);
  StatusOr<Found> takePartial(const std::string &path);
  void adopt(int descriptor, bool isPartial);
  std::string target_; // where the links lead
  std::string weakness_;
  int descriptor_ = -1;
  bool isPartial_ = false; // the descriptor is of the file at partialNameOf
};

/// Writes `path` by way of partialNameOf(path): create, write..., commit.
/// Without a commit nothing is left of it. A link stays: the file that it names
/// is the one written. What is no file (a device, a directory, a pipe) is never
/// replaced, nor what another process holds. The file is always a new one:
/// nothing that has its name already is opened for writing or followed.
class AtomicFile {
public:
  /// A caller who holds the file goes on holding the new one.
  static StatusOr<AtomicFile> create(const std::string &path,
                                     FileHold *hold = nullptr);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  Status write(const void *data, size_t size);
  /// The same at an offset, which may lie behind the end, as far as all up to
  /// it is written before the commit; write() goes on where it was.
  Status writeAt(uint64_t offset, const void *data, size_t size);
  /// On disk, under its name, when this returns.
  Status commit();

private:
  AtomicFile() = default;
  std::string path_;   // as given
  std::string target_; // where its links lead
  int descriptor_ = -1;
  FileHold *hold_ = nullptr;
};

/// Makes `to` another name of the file `from` (of what it leads to, if a link),
/// in place of what had that name; a crash may leave `from` alone. On disk when
/// this returns.
Status linkFile(const std::string &from, const std::string &to);

/// Removes a file, or another name of one, unless another process holds it.
Status removeFile(const std::string &path);

} // namespace gradus::runtime
