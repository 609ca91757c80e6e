// Reserves addresses for the whole file and memory for the loaded parts.

#include "runtime/artifact/artifact_bytes.h"

#include "runtime/file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gradus::runtime {

static size_t pageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

StatusOr<ArtifactBytes> ArtifactBytes::open(const std::string &path) {
  ArtifactBytes bytes;
  // O_NONBLOCK: opening a pipe without a writer must not block.
  bytes.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (bytes.descriptor_ < 0)
    return systemError(path, "open");
  struct stat facts;
  if (fstat(bytes.descriptor_, &facts) != 0)
    return systemError(path, "read");
  if (!S_ISREG(facts.st_mode))
    return invalid(path, ": is not a file");
  GRADUS_TRY(at(bytes.reserve(static_cast<size_t>(facts.st_size)), path));
  return bytes;
}

StatusOr<ArtifactBytes> ArtifactBytes::copyOf(std::span<const uint8_t> from) {
  ArtifactBytes bytes;
  GRADUS_TRY(bytes.reserve(from.size()));
  if (from.empty())
    return bytes;
  if (mprotect(bytes.data_, from.size(), PROT_READ | PROT_WRITE) != 0)
    return failed("no memory for ", from.size(), " bytes: ", strerror(errno));
  std::memcpy(bytes.data_, from.data(), from.size());
  return bytes;
}

ArtifactBytes::ArtifactBytes(ArtifactBytes &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

ArtifactBytes::~ArtifactBytes() {
  if (data_)
    munmap(data_, size_);
  if (descriptor_ >= 0)
    close(descriptor_);
}

Status ArtifactBytes::reserve(size_t size) {
  if (size == 0)
    return Status();
  void *start = mmap(nullptr, size, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED)
    return failed("no memory for ", size, " bytes: ", strerror(errno));
  data_ = static_cast<uint8_t *>(start);
  size_ = size;
  // A huge page would use memory for parts that are not loaded.
  madvise(data_, size, MADV_NOHUGEPAGE);
  return Status();
}

Status ArtifactBytes::load(size_t offset, size_t size) {
  if (descriptor_ < 0 || size == 0)
    return Status();
  uint64_t memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * pageSize();
  if (size > memory)
    return failed("needs ", size,
                  " bytes besides its weights, and this "
                  "machine has ",
                  memory);
  size_t first = offset / pageSize() * pageSize();
  if (mprotect(data_ + first, offset + size - first, PROT_READ | PROT_WRITE) !=
      0)
    return failed("no memory for ", size, " bytes: ", strerror(errno));
  return read(offset, {data_ + offset, size});
}

Status ArtifactBytes::read(size_t offset, std::span<uint8_t> to) const {
  if (descriptor_ < 0) {
    std::memcpy(to.data(), data_ + offset, to.size());
    return Status();
  }
  for (size_t done = 0; done < to.size();) {
    ssize_t got = pread(descriptor_, to.data() + done, to.size() - done,
                        static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return failed("cannot read: ", strerror(errno));
    if (got == 0)
      return invalid("is cut short: it had ", size_,
                     " bytes when it was opened, and now ends at ",
                     offset + done);
    done += static_cast<size_t>(got);
  }
  return Status();
}

} // namespace gradus::runtime
