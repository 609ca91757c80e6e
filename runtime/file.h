// Files: mapped for reading, or written so that a crash leaves the old or the
// new one, never a part, and two writers never mix.

#pragma once

#include "runtime/status.h"

#include <cstdint>
#include <span>
#include <string>

namespace gradus::runtime {

/// Words the last system error as "PATH: cannot WHAT: Permission denied", as a
/// mistake of the user or a failure of the machine.
Status systemError(const std::string &path, const char *what);

/// A whole file, mapped read-only. The caller must not change the file while it
/// is mapped; replacing it (as AtomicFile does) is fine.
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

/// The ending of a file's name until it is complete. No other program has
/// reason to use such names.
constexpr const char *kPartialEnding = ".gradus-partial";

/// The name under which a file is written first: beside the target of the links
/// of `path`.
std::string partialNameOf(const std::string &path);

/// Keeps other processes from writing a file, from before it exists until this
/// object is destroyed: a training run has its checkpoint for itself. The
/// system's lock on the file ends with the process, however that ends, and
/// needs no file of its own: while the file does not exist, the empty one at
/// partialNameOf is locked until AtomicFile makes the file of it.
class FileHold {
public:
  /// Fails only if another process holds or writes the file, and says which.
  static StatusOr<FileHold> take(const std::string &path);
  FileHold(FileHold &&other) noexcept;
  FileHold &operator=(FileHold &&other) noexcept;
  ~FileHold();

  /// The reason why nothing is held: the file system has no locks, or the file
  /// cannot be written, which AtomicFile reports in its own words; empty if it
  /// is held.
  const std::string &weakness() const { return weakness_; }

private:
  friend class AtomicFile;
  FileHold() = default;
  enum class Found {
    settled, // it is held, or there is a reason why not
    nothing, // the file does not exist
    another, // it was created or replaced meanwhile: look again
  };
  StatusOr<Found> takeTarget(const std::string &path);
  StatusOr<Found> takePartial(const std::string &path);
  void adopt(int descriptor, bool isPartial);
  std::string target_; // after following links
  std::string weakness_;
  int descriptor_ = -1;
  bool isPartial_ = false; // the descriptor is of the file at partialNameOf
};

/// Writes `path` through partialNameOf(path): create, write..., commit. Without
/// a commit nothing is left of it. A link stays: the file that it names is the
/// one written. Anything but a regular file (a device, a directory, a pipe) is
/// never replaced, nor is a file that another process holds. The file is always
/// a new one: no existing file of this name is opened for writing or followed.
/// It has the permissions of the file that it replaces.
class AtomicFile {
public:
  /// `hold`, if given, goes on to hold the new file.
  static StatusOr<AtomicFile> create(const std::string &path,
                                     FileHold *hold = nullptr);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  Status write(const void *data, size_t size);
  /// Writes at an offset, which may be after the end if all bytes before it are
  /// written before the commit; write() continues at its own position.
  Status writeAt(uint64_t offset, const void *data, size_t size);
  /// When this returns, the file is on disk under its name.
  Status commit();
  /// The same without waiting for the disk: a crash of the machine alone may
  /// leave a part of the file.
  Status commitUnsynced();

private:
  AtomicFile() = default;
  Status keepPermissions() const;
  std::string path_;   // as given
  std::string target_; // after following links
  int descriptor_ = -1;
  FileHold *hold_ = nullptr;
};

/// Gives the file `from` (or the target of the link `from`) the additional name
/// `to`, replacing any file of that name; a crash may leave only `from`. On
/// disk when this returns.
Status linkFile(const std::string &from, const std::string &to);

/// Removes a file, or one of its names, unless another process holds it.
Status removeFile(const std::string &path);

} // namespace gradus::runtime
