// Mapped files and atomic writes, on POSIX calls.

#include "runtime/file.h"

#include "runtime/status.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gradus::runtime {

namespace {

/// The last system error, in words, as one of the user's or the machine's.
Status systemError(const std::string &path, const char *what) {
  int code = errno;
  std::string words = inWords(path, ": cannot ", what, ": ", strerror(code));
  bool users =
      code == ENOENT || code == EACCES || code == EISDIR || code == ENOTDIR;
  return {users ? StatusCode::invalid : StatusCode::failed, words};
}

/// Closes a descriptor on the way out.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0)
      close(number);
  }
};

std::string partialName(const std::string &path) { return path + ".partial"; }

/// "" where the path has no folder; else with the '/' at its end.
std::string folderOf(const std::string &path) {
  return path.substr(0, path.rfind('/') + 1);
}

/// The file that a path stands for: where its links lead, even to nothing yet.
StatusOr<std::string> followLinks(const std::string &path) {
  constexpr int kMostLinks = 40; // as many as the system follows
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

/// What is there already may be replaced where it is a file like ours.
Status verifyReplaceable(const std::string &target, const std::string &path) {
  struct stat facts;
  if (stat(target.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode))
    return invalid(path, ": cannot write: it is ", kindOf(facts.st_mode),
                   ", not a file");
  return Status();
}

/// Whether the open file still is the one of that name: another writer may have
/// renamed it between our opening and our locking it.
bool isStillNamed(int descriptor, const std::string &name) {
  struct stat open, named;
  return fstat(descriptor, &open) == 0 && stat(name.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
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
  // O_NONBLOCK: a pipe without a writer must not hold us up.
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

void MappedFile::release(std::span<const uint8_t> part) {
  // Whole pages inside the part only; its neighbours may be in use.
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto start =
      (reinterpret_cast<uintptr_t>(part.data()) + page - 1) / page * page;
  auto end =
      reinterpret_cast<uintptr_t>(part.data() + part.size()) / page * page;
  if (start < end)
    madvise(reinterpret_cast<void *>(start), end - start, MADV_DONTNEED);
}

//===-- AtomicFile --------------------------------------------------------===//

StatusOr<AtomicFile> AtomicFile::create(const std::string &path) {
  GRADUS_ASSIGN(std::string target, followLinks(path));
  GRADUS_TRY(verifyReplaceable(target, path));
  std::string name = partialName(target);
  AtomicFile file;
  Descriptor opened{::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)};
  if (opened.number < 0)
    return systemError(path, "write");
  // One left by a process that was killed is taken over; a locked one is not.
  if (flock(opened.number, LOCK_EX | LOCK_NB) != 0 ||
      !isStillNamed(opened.number, name))
    return failed(path, ": another process is writing it");
  file.path_ = path;
  file.target_ = target;
  file.descriptor_ = std::exchange(opened.number, -1);
  if (ftruncate(file.descriptor_, 0) != 0)
    return systemError(path, "write");
  return file;
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path_(std::move(other.path_)), target_(std::move(other.target_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0)
    return;
  unlink(partialName(target_).c_str());
  close(descriptor_);
}

Status AtomicFile::write(const void *data, size_t size) {
  auto *at = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t wrote = ::write(descriptor_, at, size);
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote < 0)
      return systemError(path_, "write");
    at += wrote;
    size -= static_cast<size_t>(wrote);
  }
  return Status();
}

Status AtomicFile::commit() {
  if (fsync(descriptor_) != 0)
    return systemError(path_, "write");
  if (rename(partialName(target_).c_str(), target_.c_str()) != 0)
    return systemError(path_, "replace");
  close(std::exchange(descriptor_, -1));
  return syncDirectory(target_);
}

//===-- names -------------------------------------------------------------===//

Status linkFile(const std::string &from, const std::string &to) {
  GRADUS_TRY(verifyReplaceable(to, to));
  std::string name = partialName(to);
  unlink(name.c_str()); // left by a process that was killed
  if (linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(),
             AT_SYMLINK_FOLLOW) != 0)
    return systemError(to, "write");
  int renamed = rename(name.c_str(), to.c_str());
  Status replaced = renamed == 0 ? Status() : systemError(to, "replace");
  unlink(name.c_str()); // still there where both were names of one file
  GRADUS_TRY(replaced);
  return syncDirectory(to);
}

} // namespace gradus::runtime
