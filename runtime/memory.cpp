// Memory from the system: guard pages, huge pages where they pay, sealed code.

#include "runtime/memory.h"

#include "runtime/status.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace gradus::runtime {

namespace {

size_t pageSize() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// As <sys/mman.h> of newer systems has it.
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/// From this size on huge pages save more time than their rounding costs
/// memory.
constexpr size_t kLarge = 64 << 20;

size_t wholePages(size_t size) {
  return (size + pageSize() - 1) / pageSize() * pageSize();
}

uint64_t machineMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * pageSize();
}

} // namespace

StatusOr<MemoryBlock> MemoryBlock::allocate(size_t size,
                                            const std::string &what) {
  MemoryBlock block;
  if (size == 0)
    return block;
  if (size > machineMemory())
    return failed("needs ", size, " bytes for its ", what,
                  ", and this machine has ", machineMemory());
  size_t inner = wholePages(size), whole = inner + 2 * pageSize();
  void *start = mmap(nullptr, whole, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED)
    return failed("no memory for ", size, " bytes of ", what, ": ",
                  strerror(errno));
  block.data_ = static_cast<uint8_t *>(start) + pageSize();
  block.size_ = size;
  if (mprotect(block.data_, inner, PROT_READ | PROT_WRITE) != 0)
    return failed("no memory for ", size, " bytes of ", what, ": ",
                  strerror(errno));
  if (size >= kLarge)
    madvise(block.data_, inner, MADV_HUGEPAGE);
  return block;
}

MemoryBlock::MemoryBlock(MemoryBlock &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      gatheredPages_(std::exchange(other.gatheredPages_, 0)) {}

MemoryBlock &MemoryBlock::operator=(MemoryBlock &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(gatheredPages_, other.gatheredPages_);
  return *this;
}

MemoryBlock::~MemoryBlock() {
  if (data_)
    munmap(data_ - pageSize(), wholePages(size_) + 2 * pageSize());
}

size_t MemoryBlock::touchedPages() const {
  std::vector<unsigned char> pages(wholePages(kLarge) / pageSize());
  size_t count = 0, size = wholePages(size_);
  for (size_t start = 0; start < size; start += kLarge) {
    size_t part = std::min(kLarge, size - start), end = part / pageSize();
    if (mincore(data_ + start, part, pages.data()) == 0)
      for (size_t i = 0; i < end; ++i)
        count += pages[i] & 1;
  }
  return count;
}

/// One call for all: it ends where the system has looked for a huge page in
/// vain. It passes over what lies on huge pages already, but looks at each, so
/// it is made only if there are new ones. The system does not ask its own
/// setting then, so we do.
void MemoryBlock::gather() {
  if (size_ < kLarge || touchedPages() == gatheredPages_ ||
      hugePageSetting() == "never")
    return;
  madvise(data_, wholePages(size_), MADV_COLLAPSE);
  gatheredPages_ = touchedPages();
}

Status MemoryBlock::seal() {
  if (data_ && mprotect(data_, wholePages(size_), PROT_READ | PROT_EXEC) != 0 &&
      !mapAsFile())
    return failed("this system does not let a program run code it has loaded: ",
                  strerror(errno));
  return Status();
}

/// Hardened systems do not let written memory become code, but map files as
/// code: the block is then copied to a memory file and mapped from it.
bool MemoryBlock::mapAsFile() {
  int file = memfd_create("gradus-code", MFD_CLOEXEC);
  if (file < 0)
    return false;
  bool isDone = write(file, data_, size_) == static_cast<ssize_t>(size_) &&
                mmap(data_, wholePages(size_), PROT_READ | PROT_EXEC,
                     MAP_PRIVATE | MAP_FIXED, file, 0) != MAP_FAILED;
  int reason = errno;
  close(file);
  errno = reason;
  return isDone;
}

StatusOr<MemoryBlock> loadCode(std::span<const uint8_t> code) {
  GRADUS_ASSIGN(MemoryBlock block,
                MemoryBlock::allocate(code.size(), "machine code"));
  if (!code.empty())
    std::memcpy(block.data(), code.data(), code.size());
  GRADUS_TRY(block.seal());
  return block;
}

std::string hugePageSetting(const char *file) {
  std::ifstream stream(file);
  std::string before, setting;
  bool isThere = std::getline(stream, before, '[') &&
                 std::getline(stream, setting, ']') && !stream.eof();
  return isThere ? setting : "no setting";
}

/// Asks for a huge page that has one byte of content. A kernel without the
/// advice calls it invalid; one that has no huge page says something else.
bool gathersHugePages() {
  constexpr size_t kHugePage = 2 << 20, kSize = 2 * kHugePage;
  void *start = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED)
    return false;
  auto *page = static_cast<uint8_t *>(start);
  page += -reinterpret_cast<uintptr_t>(page) % kHugePage;
  *page = 1;
  bool isKnown =
      madvise(page, kHugePage, MADV_COLLAPSE) == 0 || errno != EINVAL;
  munmap(start, kSize);
  return isKnown;
}

bool allowsWritableCode() {
  constexpr int kAll = PROT_READ | PROT_WRITE | PROT_EXEC;
  void *page =
      mmap(nullptr, pageSize(), kAll, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return false;
  munmap(page, pageSize());
  return true;
}

} // namespace gradus::runtime
