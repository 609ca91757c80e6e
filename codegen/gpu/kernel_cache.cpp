// A file has its format, the hash of the key and the bytes, then the bytes.

#include "codegen/gpu/kernel_cache.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <vector>

using namespace gradus;
using namespace llvm;
namespace fs = llvm::sys::fs;

static constexpr StringRef kKind = "gradus kernels 1\n", kEnding = ".kernels",
                           kNewEnding = ".new";
/// The age at which unfinished files are removed.
static constexpr std::chrono::hours kLeftBehind(1);

//===-- keys --------------------------------------------------------------===//

CacheKey &CacheKey::add(StringRef text) {
  char size[8];
  support::endian::write64le(size, text.size());
  hash_.update(StringRef(size, sizeof(size)));
  hash_.update(text);
  return *this;
}

std::string CacheKey::hex() const {
  SHA256 hash = hash_;
  return toHex(hash.final(), /*LowerCase=*/true);
}

/// The hash in front of the bytes. It includes the key, which detects a renamed
/// file.
static std::string checkOf(const CacheKey &key, StringRef bytes) {
  return CacheKey(key).add(bytes).hex();
}

//===-- files -------------------------------------------------------------===//

std::string gradus::kernelCacheFolder() {
  if (auto folder = sys::Process::GetEnv("XDG_CACHE_HOME");
      folder && sys::path::is_absolute(*folder))
    return *folder + "/gradus/kernels";
  SmallString<128> home;
  return sys::path::home_directory(home)
             ? home.str().str() + "/.cache/gradus/kernels"
             : "";
}

std::string KernelCache::pathOf(const CacheKey &key) const {
  return folder_ + "/" + key.hex() + kEnding.str();
}

std::optional<std::string> KernelCache::find(const CacheKey &key) const {
  if (folder_.empty())
    return std::nullopt;
  int file;
  if (fs::openFileForRead(pathOf(key), file))
    return std::nullopt;
  auto buffer = MemoryBuffer::getOpenFile(file, pathOf(key), -1);
  (void)fs::setLastAccessAndModificationTime(file,
                                             std::chrono::system_clock::now());
  fs::closeFile(file);
  if (!buffer)
    return std::nullopt;
  StringRef text = (*buffer)->getBuffer();
  if (!text.consume_front(kKind) || text.size() < 64)
    return std::nullopt;
  StringRef bytes = text.drop_front(64);
  if (text.take_front(64) != checkOf(key, bytes))
    return std::nullopt;
  return bytes.str();
}

static Error cannot(const Twine &what, const Twine &path,
                    std::error_code code) {
  return createStringError("kernel cache: cannot " + what + " " + path + ": " +
                           code.message());
}

Error KernelCache::store(const CacheKey &key, StringRef bytes) const {
  if (folder_.empty())
    return Error::success();
  if (auto code = fs::create_directories(folder_))
    return cannot("make", folder_, code);
  int file;
  SmallString<128> path;
  if (auto code = fs::createUniqueFile(folder_ + "/%%%%%%%%%%%%" + kNewEnding,
                                       file, path, fs::OF_None,
                                       fs::owner_read | fs::owner_write))
    return cannot("write in", folder_, code);
  raw_fd_ostream stream(file, /*shouldClose=*/true);
  stream << kKind << checkOf(key, bytes) << bytes;
  stream.close();
  std::error_code code = stream.error();
  stream.clear_error();
  if (!code)
    code = fs::rename(path, pathOf(key));
  if (code) {
    fs::remove(path);
    return cannot("write", pathOf(key), code);
  }
  shrink();
  return Error::success();
}

namespace {

struct StoredFile {
  std::string path;
  sys::TimePoint<> used;
  uint64_t bytes;
};

} // namespace

/// The files of the cache, ignoring others in the folder.
static std::vector<StoredFile> filesIn(const std::string &folder) {
  std::vector<StoredFile> files;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; entry != end && !code;
       entry.increment(code)) {
    StringRef path = entry->path();
    fs::file_status status;
    if ((!path.ends_with(kEnding) && !path.ends_with(kNewEnding)) ||
        fs::status(path, status) || !fs::is_regular_file(status))
      continue;
    files.push_back(
        {path.str(), status.getLastModificationTime(), status.getSize()});
  }
  return files;
}

/// Removes the oldest files; others may do so at the same time.
void KernelCache::shrink() const {
  std::vector<StoredFile> files = filesIn(folder_);
  auto now = std::chrono::system_clock::now();
  uint64_t bytes = 0;
  for (StoredFile &file : files)
    if (StringRef(file.path).ends_with(kNewEnding)) {
      if (now - file.used > kLeftBehind)
        fs::remove(file.path);
      file.bytes = 0;
    } else {
      bytes += file.bytes;
    }
  llvm::sort(files, [](const StoredFile &a, const StoredFile &b) {
    return std::tie(a.used, a.path) < std::tie(b.used, b.path);
  });
  for (const StoredFile &file : files) {
    if (bytes <= mostBytes_)
      return;
    if (file.bytes && !fs::remove(file.path))
      bytes -= file.bytes;
  }
}
