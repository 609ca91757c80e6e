// GPU addresses are host addresses that nothing else uses.

#include "runtime/emulated/fake_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace gradus::runtime::cuda {

namespace {

size_t pageSize() {
  static const auto size = size_t(sysconf(_SC_PAGESIZE));
  return size;
}

/// The bytes of whole pages, with a guard page before and after.
size_t pagesFor(size_t bytes) {
  return (bytes + pageSize() - 1) / pageSize() * pageSize() + 2 * pageSize();
}

uint8_t *bytesAt(DevicePointer address) {
  return std::bit_cast<uint8_t *>(address);
}

} // namespace

std::string FakeAllocation::name() const {
  return inWords("the allocation of ", bytes, pinned ? " pinned" : "",
                 " bytes");
}

FakeMemory::~FakeMemory() {
  for (const auto &[start, allocation] : allocations_)
    munmap(bytesAt(start) - pageSize(), pagesFor(allocation.bytes));
}

DevicePointer FakeMemory::allocate(size_t bytes, bool pinned) {
  size_t whole = pagesFor(bytes);
  void *start = mmap(nullptr, whole, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED)
    return 0;
  uint8_t *inner = static_cast<uint8_t *>(start) + pageSize();
  if (mprotect(inner, whole - 2 * pageSize(), PROT_READ | PROT_WRITE) != 0) {
    munmap(start, whole);
    return 0;
  }
  std::memset(inner, 0xFF, bytes);
  auto address = reinterpret_cast<DevicePointer>(inner);
  allocations_[address] = {bytes, pinned, false,
                           std::vector<uint8_t>(bytes, pinned)};
  used_ += pinned ? 0 : bytes;
  return address;
}

bool FakeMemory::free(DevicePointer start, bool pinned) {
  auto found = allocations_.find(start);
  if (found == allocations_.end() || found->second.freed ||
      found->second.pinned != pinned)
    return false;
  FakeAllocation &allocation = found->second;
  allocation.freed = true;
  allocation.written = {};
  used_ -= pinned ? 0 : allocation.bytes;
  size_t inner = pagesFor(allocation.bytes) - 2 * pageSize();
  mprotect(bytesAt(start), inner, PROT_NONE);
  madvise(bytesAt(start), inner, MADV_DONTNEED);
  return true;
}

/// The last allocation that starts at or before an address.
const FakeMemory::Entry *FakeMemory::find(DevicePointer address) const {
  auto after = allocations_.upper_bound(address);
  return after == allocations_.begin() ? nullptr : &*std::prev(after);
}

std::string FakeMemory::outside(DevicePointer start, uint64_t bytes) const {
  const Entry *entry = find(start);
  if (!entry ||
      start - entry->first >= std::max<size_t>(entry->second.bytes, 1))
    return "lies outside of all allocations";
  const FakeAllocation &allocation = entry->second;
  if (allocation.freed)
    return "lies in " + allocation.name() + " that was freed";
  uint64_t end = start - entry->first + bytes;
  if (end > allocation.bytes)
    return inWords("ends ", end - allocation.bytes, " bytes behind ",
                   allocation.name());
  return "";
}

bool FakeMemory::isPinned(DevicePointer start) const {
  const Entry *entry = find(start);
  return entry && entry->second.pinned && outside(start, 1).empty();
}

uint8_t *FakeMemory::flags(DevicePointer start) {
  auto *entry = const_cast<Entry *>(find(start));
  return entry->second.written.data() + (start - entry->first);
}

void FakeMemory::noteWritten(DevicePointer start, uint64_t bytes) {
  std::memset(flags(start), 1, bytes);
}

void FakeMemory::forget(DevicePointer start, uint64_t bytes) {
  std::memset(flags(start), 0, bytes);
  std::memset(bytesAt(start), 0xFF, bytes);
}

bool FakeMemory::isWritten(DevicePointer start, uint64_t bytes) const {
  const uint8_t *flags = const_cast<FakeMemory *>(this)->flags(start);
  return std::memchr(flags, 0, bytes) == nullptr;
}

} // namespace gradus::runtime::cuda
