// The memory that this process uses, as the kernel counts it.

#pragma once

#include "training/observer.h"

#include <cstdint>

namespace gradus::cli {

/// The anonymous memory of the process now (RssAnon), in bytes: not mapped data
/// sets and programs. 0 if the kernel does not say.
uint64_t anonymousBytes();

/// Returns freed memory to the system, so that it does not count. Threads may
/// call it at the same time.
void releaseFreed();

/// The bytes that loading an artifact with an empty graph adds: the threads and
/// tables that every session has. docs/contracts.md counts without them.
uint64_t emptySessionBytes(int threads);

/// Measures the memory of the process before and at the end of the steps.
class MemoryMeter : public training::Observer {
public:
  /// Counts without what every session has.
  void begin(int threads);
  /// Measures at the end of a run, and so before others gather what they save.
  runtime::Status beforeSave(training::SaveReport &report) override;
  uint64_t bytes() const;

private:
  uint64_t before_ = 0, after_ = 0;
};

} // namespace gradus::cli
