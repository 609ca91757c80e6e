// Cells for the library's small objects, found by a bitmap, and a list of the
// blocks that it packs tensors into.

#include "runtime/cpu/call_memory.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

namespace gradus::runtime {

namespace {

constexpr size_t kCellSize = 512;
constexpr size_t kWords = 4, kCells = kWords * 64;

alignas(64) unsigned char cells[kCells][kCellSize];
std::atomic<uint64_t> taken[kWords]; // a bit per cell

thread_local int scopes = 0;

/// A free cell of one word of the bitmap; null if all are in use.
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

//===-- blocks ------------------------------------------------------------===//

constexpr size_t kBlockAlignment = 4096; // No call needs more.

struct Block {
  void *memory = nullptr;
  size_t size = 0;
  bool isTaken = false;
};

Block blocks[64]; // As many as the parts of a call may need at once; others are
                  // not kept.
std::mutex blocksMutex;

/// Whether a free block suits `size` better than the other: the smallest one
/// that is large enough, or else the largest, which needs to grow least.
bool suitsBetter(const Block &one, const Block &other, size_t size) {
  bool fits = one.size >= size, otherFits = other.size >= size;
  if (fits != otherFits)
    return fits;
  return fits ? one.size < other.size : one.size > other.size;
}

/// The best free block for `size`; null if all are in use.
Block *freeBlockFor(size_t size) {
  Block *best = nullptr;
  for (Block &block : blocks)
    if (!block.isTaken && (!best || suitsBetter(block, *best, size)))
      best = &block;
  return best;
}

int grow(Block &block, size_t size) {
  std::free(block.memory);
  block = {};
  int error = posix_memalign(&block.memory, kBlockAlignment, size);
  block.size = error ? 0 : size;
  return error;
}

} // namespace

CallMemoryScope::CallMemoryScope() { ++scopes; }
CallMemoryScope::~CallMemoryScope() { --scopes; }
bool CallMemoryScope::isOpen() { return scopes > 0; }

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

int alignForCall(void **memory, size_t alignment, size_t size) {
  if (scopes == 0 || alignment > kBlockAlignment)
    return posix_memalign(memory, alignment, size);
  std::lock_guard lock(blocksMutex);
  Block *block = freeBlockFor(size);
  if (!block)
    return posix_memalign(memory, alignment, size);
  if (block->size < size)
    if (int error = grow(*block, size))
      return error;
  block->isTaken = true;
  *memory = block->memory;
  return 0;
}

void releaseForCall(void *memory) {
  {
    std::lock_guard lock(blocksMutex);
    for (Block &block : blocks)
      if (memory && block.memory == memory) {
        block.isTaken = false;
        return;
      }
  }
  std::free(memory);
}

} // namespace gradus::runtime
