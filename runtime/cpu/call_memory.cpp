// Cells for the library's small objects, found by a bitmap.

#include "runtime/cpu/call_memory.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <new>

namespace gradus::runtime {

namespace {

constexpr size_t kCellSize = 512;
constexpr size_t kWords = 4, kCells = kWords * 64;

alignas(64) unsigned char cells[kCells][kCellSize];
std::atomic<uint64_t> taken[kWords]; // a bit per cell

thread_local int scopes = 0;

/// A free cell of one word of the bitmap; null where all are taken.
void *takeCell(size_t word) {
  uint64_t bits = taken[word].load(std::memory_order_relaxed);
  while (~bits) {
    auto bit = static_cast<size_t>(std::countr_one(bits));
    if (taken[word].compare_exchange_weak(bits, bits | uint64_t{1} << bit,
                                          std::memory_order_acquire))
      return cells[word * 64 + bit];
  }
  return nullptr;
}

} // namespace

CallMemoryScope::CallMemoryScope() { ++scopes; }
CallMemoryScope::~CallMemoryScope() { --scopes; }

void *allocateForCall(size_t size) {
  for (size_t word = 0; scopes > 0 && size <= kCellSize && word < kWords;
       ++word)
    if (void *cell = takeCell(word))
      return cell;
  return ::operator new(size);
}

void freeForCall(void *memory) {
  auto offset =
      static_cast<size_t>(static_cast<unsigned char *>(memory) - cells[0]);
  if (offset >= sizeof(cells))
    return ::operator delete(memory);
  size_t cell = offset / kCellSize;
  taken[cell / 64].fetch_and(~(uint64_t{1} << cell % 64),
                             std::memory_order_release);
}

} // namespace gradus::runtime
