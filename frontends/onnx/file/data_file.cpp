// Checks a file before opening it: O_PATH holds the file without any effect on
// it, and the file that is then opened is the one that was checked, whatever
// happens to its name meanwhile.

#include "frontends/onnx/file/data_file.h"

#include "messages/message.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gradus::onnx {
namespace {

namespace path = llvm::sys::path;

/// Owns a file descriptor and closes it.
class Descriptor {
public:
  Descriptor(const char *path, int flags)
      : number_(::open(path, flags | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0)
      ::close(number_);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;

  bool isOpen() const { return number_ >= 0; }
  int number() const { return number_; }
  /// A name of this very file that is valid while it is open.
  std::string name() const { return message("/proc/self/fd/", number_); }

private:
  int number_;
};

/// The real path of a file; empty if the system does not tell.
std::string placeOf(const Descriptor &file) {
  char place[PATH_MAX];
  ssize_t length = ::readlink(file.name().c_str(), place, sizeof(place));
  bool isWhole = length > 0 && size_t(length) < sizeof(place);
  return isWhole ? std::string(place, length) : "";
}

/// The path with all links followed; empty if there is no such file.
std::string realPath(const std::string &name) {
  char place[PATH_MAX];
  return ::realpath(name.c_str(), place) ? place : "";
}

bool liesIn(llvm::StringRef place, llvm::StringRef folder) {
  return place.consume_front(folder) &&
         (folder.ends_with("/") || place.starts_with("/"));
}

std::string folderOf(const std::string &modelPath) {
  llvm::StringRef folder = path::parent_path(modelPath);
  return folder.empty() ? "." : folder.str();
}

/// Whether a file is in the model's folder or in that of the model's link
/// target.
bool liesBeside(const std::string &modelPath, const std::string &place) {
  std::string folder = realPath(folderOf(modelPath));
  std::string other = path::parent_path(realPath(modelPath)).str();
  return (!folder.empty() && liesIn(place, folder)) ||
         (!other.empty() && liesIn(place, other));
}

/// Whether a location already shows that it leaves the model's folder.
bool leavesFolder(llvm::StringRef location) {
  return path::is_absolute(location) ||
         llvm::is_contained(
             llvm::make_range(path::begin(location), path::end(location)),
             "..");
}

absl::Status checkRegular(const Descriptor &file) {
  struct stat found;
  if (::fstat(file.number(), &found) != 0)
    return invalid("cannot be looked at: ", std::strerror(errno));
  if (!S_ISREG(found.st_mode))
    return invalid("is ",
                   S_ISDIR(found.st_mode) ? "a folder" : "a pipe or a device",
                   ", expected a regular file");
  return absl::OkStatus();
}

bool isSame(const Descriptor &one, const Descriptor &other) {
  struct stat first, second;
  return ::fstat(one.number(), &first) == 0 &&
         ::fstat(other.number(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/// Reads a file that was checked. Where there is no /proc, as in a folder that
/// is a process' root, it is opened by its name, without waiting for anybody.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>>
contentsOf(const Descriptor &looked, const std::string &name) {
  bool hasProc = ::access(looked.name().c_str(), F_OK) == 0;
  Descriptor file(hasProc ? looked.name().c_str() : name.c_str(),
                  O_RDONLY | O_NONBLOCK);
  if (!file.isOpen())
    return invalid("cannot be read: ", std::strerror(errno));
  if (!isSame(looked, file))
    return invalid("was replaced while it was opened");
  auto buffer = llvm::MemoryBuffer::getOpenFile(
      file.number(), name, /*FileSize=*/-1, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return invalid("cannot be read: ", buffer.getError().message());
  return std::move(*buffer);
}

absl::Status checkPlace(const Descriptor &file, const std::string &modelPath) {
  std::string place = placeOf(file);
  if (place.empty())
    return invalid("lies where the system does not say; is /proc there?");
  if (!liesBeside(modelPath, place))
    return invalid("leads to ", place,
                   ", which lies outside of the model's "
                   "folder");
  return absl::OkStatus();
}

std::string within(const std::string &folder, const std::string &location) {
  llvm::SmallString<128> name(folder);
  path::append(name, location);
  return name.str().str();
}

} // namespace

std::string dataPath(const std::string &modelPath,
                     const std::string &location) {
  std::string own = within(folderOf(modelPath), location);
  std::string real = realPath(modelPath);
  struct stat found;
  if (real.empty() || ::lstat(own.c_str(), &found) == 0 || errno != ENOENT)
    return own;
  std::string beside = within(folderOf(real), location);
  return ::lstat(beside.c_str(), &found) == 0 ? beside : own;
}

absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>>
openDataFile(const std::string &modelPath, const std::string &location) {
  std::string what = message("its data file \"", location, "\" ");
  if (location.empty())
    return invalid("its data file has no name");
  if (leavesFolder(location))
    return invalid(what, "lies outside of the model's folder");
  std::string name = dataPath(modelPath, location);
  Descriptor file(name.c_str(), O_PATH);
  if (!file.isOpen())
    return errno == ENOENT
               ? absl::NotFoundError(what + "is missing")
               : invalid(what, "cannot be opened: ", std::strerror(errno));
  absl::Status status = checkPlace(file, modelPath);
  if (status.ok())
    status = checkRegular(file);
  if (!status.ok())
    return invalid(what, status.message());
  auto contents = contentsOf(file, name);
  return contents.ok() ? std::move(contents)
                       : invalid(what, contents.status().message());
}

absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>>
openRegularFile(const std::string &path) {
  Descriptor file(path.c_str(), O_PATH);
  if (!file.isOpen())
    return invalid("cannot read this file: ", std::strerror(errno));
  GRADUS_RETURN_IF_ERROR(checkRegular(file));
  return contentsOf(file, path);
}

} // namespace gradus::onnx
