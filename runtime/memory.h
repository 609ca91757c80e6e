// The memory of a session: one block each for state, arena and machine code.
//
// Blocks come straight from the system, zeroed, on pages of their own between
// two that cannot be touched: reaching outside is a fault, not a silent write.

#pragma once

#include "runtime/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gradus::runtime {

/// Allocates memory, or reports sizes that the machine cannot hold; `what`
/// names it in the error.
class MemoryBlock {
public:
  static StatusOr<MemoryBlock> allocate(size_t size, const std::string &what);
  MemoryBlock() = default;
  MemoryBlock(MemoryBlock &&other) noexcept;
  MemoryBlock &operator=(MemoryBlock &&other) noexcept;
  ~MemoryBlock();

  uint8_t *data() const { return data_; }
  size_t size() const { return size_; }

  /// Moves what has been touched of a large block to huge pages, where the
  /// system had none to give at that time. Parts that fail stay as they are,
  /// and all do where the system is to have no huge pages or where nothing has
  /// been touched since the last call.
  void gather();

  /// Makes the block executable and no longer writable. It never is both at
  /// once.
  Status seal();

private:
  size_t touchedPages() const;
  bool mapAsFile();
  uint8_t *data_ = nullptr;
  size_t size_ = 0;
  size_t gatheredPages_ = 0; // those touched when it was gathered
};

/// Machine code, ready to be called; an empty block for no bytes.
StatusOr<MemoryBlock> loadCode(std::span<const uint8_t> code);

/// The system's setting for huge pages, the word in brackets in its file:
/// "always", "madvise" or "never"; "no setting" if it has none.
std::string hugePageSetting(
    const char *file = "/sys/kernel/mm/transparent_hugepage/enabled");

/// Whether the system moves small pages to huge ones when it is asked
/// (MADV_COLLAPSE, Linux 6.1).
bool gathersHugePages();

/// Whether the system gives memory that is writable and executable at once,
/// which libraries that write machine code need: hardened systems do not
/// (SELinux's execmem, PR_SET_MDWE, systemd's MemoryDenyWriteExecute).
bool allowsWritableCode();

} // namespace gradus::runtime
