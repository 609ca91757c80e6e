// Mapped files and atomic writes, on POSIX calls.

#include "runtime/file.h"

#include "runtime/file_lock.h"
#include "runtime/status.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gradus::runtime {

Status systemError(const std::string &path, const char *what) {
  int code = errno;
  std::string words = inWords(path, ": cannot ", what, ": ", strerror(code));
  bool users =
      code == ENOENT || code == EACCES || code == EISDIR || code == ENOTDIR;
  return {users ? StatusCode::invalid : StatusCode::failed, words};
}

namespace {

/// Closes a descriptor at the end of the scope.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0)
      close(number);
  }
};

/// The folder of a path with the '/' at its end, or "" if it has none.
std::string folderOf(const std::string &path) {
  return path.substr(0, path.rfind('/') + 1);
}

/// The file that a path stands for, after following links; it need not exist.
StatusOr<std::string> followLinks(const std::string &path) {
  constexpr int kMostLinks = 40; // the limit of the system
  std::string at = path;
  for (int links = 0; links < kMostLinks; ++links) {
    char next[PATH_MAX];
    ssize_t size = readlink(at.c_str(), next, sizeof(next));
    if (size < 0)
      return at;
    std::string target(next, static_cast<size_t>(size));
    at = target.starts_with('/') ? target : folderOf(at) + target;
  }
  return invalid(path, ": is a link that leads through more than ", kMostLinks,
                 " links");
}

const char *kindOf(mode_t mode) {
  return S_ISDIR(mode)                    ? "a directory"
         : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
         : S_ISFIFO(mode)                 ? "a pipe"
                                          : "a socket";
}

/// Verifies that an existing file may be replaced: it must be a regular file.
Status verifyReplaceable(const std::string &target, const std::string &path) {
  struct stat facts;
  if (stat(target.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode))
    return invalid(path, ": cannot write: it is ", kindOf(facts.st_mode),
                   ", not a file");
  return Status();
}

/// Whether the open file still has that name: another writer may have renamed
/// it between our opening and our locking it.
bool isStillNamed(int descriptor, const std::string &name) {
  struct stat open, named;
  return fstat(descriptor, &open) == 0 && lstat(name.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

/// The error about a file that another process writes; `owner` as lockOwnerOf
/// names it.
Status heldBy(const std::string &owner, const std::string &path) {
  return failed(path, ": ", owner.empty() ? "another process" : owner,
                " is writing it");
}

/// Flags that open a file of this name and never follow a link. O_NONBLOCK:
/// opening a pipe without a writer must not block.
constexpr int kAsItIs = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

//===-- Partial -----------------------------------------------------------===//

/// The new, locked file under its own name that `target` is made of.
class Partial {
public:
  Partial(const std::string &target, const std::string &path)
      : name_(target + kPartialEnding), path_(path) {}

  StatusOr<int> create();
  bool isHeld() const { return isHeld_; } // by another, hence the failure
  const std::string &owner() const { return owner_; } // if known, who holds it
  const std::string &noLock() const { return noLock_; } // why it has none

private:
  Status lock(int descriptor);
  Status removeLeftover();
  Status taken(const char *what) const {
    return invalid(path_, ": cannot write: it is made under the name ", name_,
                   ", and that is ", what, "; remove it");
  }
  Status held(std::string owner) {
    isHeld_ = true;
    owner_ = std::move(owner);
    return heldBy(owner_, path_);
  }

  const std::string name_, &path_;
  bool isHeld_ = false;
  std::string owner_, noLock_;
};

/// Without locks, a file system cannot know of other writers.
Status Partial::lock(int descriptor) {
  Lock lock = tryLock(descriptor);
  if (lock == Lock::none)
    noLock_ = strerror(errno);
  if (lock == Lock::held)
    return held(lockOwnerOf(descriptor));
  return isStillNamed(descriptor, name_) ? Status() : held("");
}

/// Removes the leftover of a process that was killed: a file without other
/// names that nobody has locked. Any other file was put there by somebody, and
/// stays.
Status Partial::removeLeftover() {
  Descriptor opened{open(name_.c_str(), O_RDONLY | kAsItIs)};
  if (opened.number < 0 && errno == ENOENT)
    return Status();
  if (opened.number < 0 && errno == ELOOP)
    return taken("a link");
  struct stat facts;
  if (opened.number < 0 || fstat(opened.number, &facts) != 0)
    return systemError(path_, "write");
  if (!S_ISREG(facts.st_mode))
    return taken(kindOf(facts.st_mode));
  if (facts.st_nlink != 1)
    return taken("a file that has other names, too");
  GRADUS_TRY(lock(opened.number));
  return unlink(name_.c_str()) == 0 ? Status() : systemError(path_, "write");
}

StatusOr<int> Partial::create() {
  isHeld_ = false;
  GRADUS_TRY(removeLeftover());
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL;
  Descriptor opened{open(name_.c_str(), kNew | kAsItIs, 0666)};
  if (opened.number < 0)
    return errno == EEXIST ? held("") : systemError(path_, "write");
  GRADUS_TRY(lock(opened.number));
  return std::exchange(opened.number, -1);
}

/// Closes the file, and removes it unless its name is another file's by now.
void dropPartial(const std::string &target, int descriptor) {
  std::string name = target + kPartialEnding;
  if (isStillNamed(descriptor, name))
    unlink(name.c_str());
  close(descriptor);
}

/// Fails if the file exists and another process holds it. The lock taken for
/// this check is released at once.
Status verifyFree(const std::string &target, const std::string &path) {
  Descriptor opened{open(target.c_str(), O_RDONLY | kAsItIs)};
  if (opened.number >= 0 && tryLock(opened.number) == Lock::held)
    return heldBy(lockOwnerOf(opened.number), path);
  return Status();
}

Status syncDirectory(const std::string &path) {
  std::string folder = folderOf(path);
  std::string directory = folder.empty() ? "." : folder;
  Descriptor opened{
      open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (opened.number < 0)
    return systemError(directory, "open");
  // Some file systems cannot sync a directory and need not.
  if (fsync(opened.number) != 0 && errno != EINVAL)
    return systemError(directory, "write");
  return Status();
}

} // namespace

//===-- MappedFile --------------------------------------------------------===//

StatusOr<MappedFile> MappedFile::open(const std::string &path) {
  // O_NONBLOCK: opening a pipe without a writer must not block.
  Descriptor opened{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (opened.number < 0)
    return systemError(path, "open");
  struct stat facts;
  if (fstat(opened.number, &facts) != 0)
    return systemError(path, "read");
  if (!S_ISREG(facts.st_mode))
    return invalid(path, ": is not a file");
  MappedFile file;
  if (facts.st_size == 0)
    return file;
  size_t size = static_cast<size_t>(facts.st_size);
  void *start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened.number, 0);
  if (start == MAP_FAILED)
    return systemError(path, "map");
  file.bytes_ = {static_cast<const uint8_t *>(start), size};
  return file;
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty())
    munmap(const_cast<uint8_t *>(bytes_.data()), bytes_.size());
}

//===-- FileHold ----------------------------------------------------------===//

std::string partialNameOf(const std::string &path) {
  auto target = followLinks(path);
  return (target.ok() ? *target : path) + kPartialEnding;
}

StatusOr<FileHold> FileHold::take(const std::string &path) {
  FileHold hold;
  auto target = followLinks(path);
  Status status = target.status();
  if (status.ok())
    status = verifyReplaceable(hold.target_ = *target, path);
  if (!status.ok()) {
    hold.weakness_ = status.message();
    return hold;
  }
  // The file may be replaced, or created, between two looks at it.
  constexpr int kMostLooks = 100;
  for (int looks = 0; looks < kMostLooks; ++looks) {
    GRADUS_ASSIGN(Found found, hold.takeTarget(path));
    if (found == Found::nothing) {
      GRADUS_ASSIGN(found, hold.takePartial(path));
    }
    if (found == Found::settled)
      return hold;
  }
  return heldBy("", path);
}

StatusOr<FileHold::Found> FileHold::takeTarget(const std::string &path) {
  // Some file systems lock only what is open for writing.
  Descriptor opened{open(target_.c_str(), O_RDWR | kAsItIs)};
  if (opened.number < 0 && errno != ENOENT)
    opened.number = open(target_.c_str(), O_RDONLY | kAsItIs);
  if (opened.number < 0 && errno == ENOENT)
    return Found::nothing;
  Lock lock = opened.number < 0 ? Lock::none : tryLock(opened.number);
  if (lock == Lock::none) {
    weakness_ = strerror(errno);
    return Found::settled;
  }
  // The owner is known as long as it has not replaced the file.
  std::string owner = lock == Lock::held ? lockOwnerOf(opened.number) : "";
  if (!owner.empty())
    return heldBy(owner, path);
  if (lock == Lock::held || !isStillNamed(opened.number, target_))
    return Found::another;
  adopt(std::exchange(opened.number, -1), /*isPartial=*/false);
  return Found::settled;
}

StatusOr<FileHold::Found> FileHold::takePartial(const std::string &path) {
  Partial partial(target_, path);
  auto descriptor = partial.create();
  if (partial.isHeld() && partial.owner().empty())
    return Found::another;
  if (partial.isHeld())
    return descriptor.status();
  if (!descriptor.ok()) {
    weakness_ = descriptor.status().message();
    return Found::settled;
  }
  if (access(target_.c_str(), F_OK) == 0) {
    dropPartial(target_, *descriptor);
    return Found::another;
  }
  weakness_ = partial.noLock();
  adopt(*descriptor, /*isPartial=*/true);
  return Found::settled;
}

/// Releases the file that is held now, if any.
void FileHold::adopt(int descriptor, bool isPartial) {
  if (descriptor_ >= 0)
    close(descriptor_);
  descriptor_ = descriptor;
  isPartial_ = isPartial;
}

FileHold::FileHold(FileHold &&other) noexcept
    : target_(std::move(other.target_)), weakness_(std::move(other.weakness_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      isPartial_(other.isPartial_) {}

FileHold &FileHold::operator=(FileHold &&other) noexcept {
  std::swap(target_, other.target_);
  std::swap(weakness_, other.weakness_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(isPartial_, other.isPartial_);
  return *this;
}

FileHold::~FileHold() {
  if (descriptor_ >= 0 && isPartial_)
    dropPartial(target_, descriptor_);
  else if (descriptor_ >= 0)
    close(descriptor_);
}

//===-- AtomicFile --------------------------------------------------------===//

StatusOr<AtomicFile> AtomicFile::create(const std::string &path,
                                        FileHold *hold) {
  AtomicFile file;
  GRADUS_ASSIGN(file.target_, followLinks(path));
  GRADUS_TRY(verifyReplaceable(file.target_, path));
  file.path_ = path;
  file.hold_ = hold;
  if (hold && hold->isPartial_) {
    file.descriptor_ = std::exchange(hold->descriptor_, -1);
    hold->isPartial_ = false;
    if (isStillNamed(file.descriptor_, file.target_ + kPartialEnding))
      return file;
    close(std::exchange(file.descriptor_, -1)); // Somebody has removed it.
  }
  if (!hold || hold->descriptor_ < 0)
    GRADUS_TRY(verifyFree(file.target_, path));
  Partial partial(file.target_, path);
  auto descriptor = partial.create();
  // A run that starts and will find the file held may be there for a moment.
  constexpr int kMostWaits = 1000; // of one millisecond each
  for (int waits = 0; hold && partial.isHeld() && waits < kMostWaits; ++waits) {
    usleep(1000);
    descriptor = partial.create();
  }
  GRADUS_ASSIGN(file.descriptor_, std::move(descriptor));
  GRADUS_TRY(file.keepPermissions());
  return file;
}

/// Before anything is written, so that nobody reads what only the owner may.
Status AtomicFile::keepPermissions() const {
  constexpr mode_t kPermissions = S_IRWXU | S_IRWXG | S_IRWXO;
  struct stat old, made;
  if (stat(target_.c_str(), &old) != 0 || fstat(descriptor_, &made) != 0)
    return Status();
  mode_t wanted = old.st_mode & kPermissions;
  if (wanted == (made.st_mode & kPermissions) ||
      fchmod(descriptor_, wanted) == 0)
    return Status();
  return systemError(path_, "write");
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path_(std::move(other.path_)), target_(std::move(other.target_)),
      descriptor_(std::exchange(other.descriptor_, -1)), hold_(other.hold_) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0)
    return;
  // The holder of a file that did not exist yet now holds the new one.
  bool wasHeld = hold_ && hold_->descriptor_ < 0 && hold_->weakness_.empty();
  if (wasHeld && ftruncate(descriptor_, 0) == 0 &&
      lseek(descriptor_, 0, SEEK_SET) == 0)
    hold_->adopt(descriptor_, /*isPartial=*/true);
  else
    dropPartial(target_, descriptor_);
}

/// Calls `writeSome`, which returns as write() does, until all is written.
template <typename WriteSome>
static Status writeAll(const std::string &path, const void *data, size_t size,
                       WriteSome writeSome) {
  auto *bytes = static_cast<const char *>(data);
  for (size_t done = 0; done < size;) {
    ssize_t wrote = writeSome(bytes + done, size - done, done);
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote < 0)
      return systemError(path, "write");
    done += static_cast<size_t>(wrote);
  }
  return Status();
}

Status AtomicFile::write(const void *data, size_t size) {
  return writeAll(path_, data, size, [&](const char *at, size_t rest, size_t) {
    return ::write(descriptor_, at, rest);
  });
}

Status AtomicFile::writeAt(uint64_t offset, const void *data, size_t size) {
  return writeAll(
      path_, data, size, [&](const char *at, size_t rest, size_t done) {
        return pwrite(descriptor_, at, rest, static_cast<off_t>(offset + done));
      });
}

Status AtomicFile::commit() {
  if (fsync(descriptor_) != 0)
    return systemError(path_, "write");
  GRADUS_TRY(commitUnsynced());
  return syncDirectory(target_);
}

Status AtomicFile::commitUnsynced() {
  std::string name = target_ + kPartialEnding;
  if (!isStillNamed(descriptor_, name))
    return failed(path_, ": cannot write: another process has taken away ",
                  name, ", of which it was to be made");
  if (rename(name.c_str(), target_.c_str()) != 0)
    return systemError(path_, "replace");
  int descriptor = std::exchange(descriptor_, -1);
  if (hold_)
    hold_->adopt(descriptor, /*isPartial=*/false);
  else
    close(descriptor);
  return Status();
}

//===-- names -------------------------------------------------------------===//

Status linkFile(const std::string &from, const std::string &to) {
  GRADUS_TRY(verifyReplaceable(to, to));
  auto link = [&](const std::string &name) {
    return linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(),
                  AT_SYMLINK_FOLLOW);
  };
  if (link(to) == 0)
    return syncDirectory(to);
  if (errno != EEXIST)
    return systemError(to, "write");
  struct stat ours, there;
  if (stat(from.c_str(), &ours) == 0 && lstat(to.c_str(), &there) == 0 &&
      ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
    return Status();
  GRADUS_TRY(verifyFree(to, to));
  if (unlink(to.c_str()) != 0 || link(to) != 0)
    return systemError(to, "replace");
  return syncDirectory(to);
}

Status removeFile(const std::string &path) {
  GRADUS_TRY(verifyFree(path, path));
  return unlink(path.c_str()) == 0 ? Status() : systemError(path, "remove");
}

} // namespace gradus::runtime
