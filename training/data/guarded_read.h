// Reads of mapped files. If a file is truncated while it is mapped, the system
// has no page for the rest and sends SIGBUS; here the read returns false.

#pragma once

#include "runtime/status.h"

#include <cstdint>
#include <span>
#include <string>

namespace gradus::data {

/// Calls `read(argument)`; returns false if bytes that it read are missing.
/// Then `read` was interrupted in the middle, so it must own nothing.
bool guardedRead(void (*read)(const void *argument), const void *argument);

/// Calls a function object in the same way.
template <typename Read> bool readsWhole(const Read &read) {
  return guardedRead([](const void *it) { (*static_cast<const Read *>(it))(); },
                     &read);
}

/// The error for a sample whose bytes are missing; also names the tensor.
runtime::Status cutShort(const std::string &tensor, int64_t sample);

/// Calls `read(sample)` for each sample of a tensor until it returns false;
/// fails if bytes that it read are missing.
template <typename Read>
runtime::Status readSamples(const std::string &tensor, int64_t samples,
                            const Read &read) {
  volatile int64_t reached = 0; // siglongjmp may leave the loop
  bool whole = readsWhole([&] {
    for (int64_t sample = 0; sample < samples; ++sample) {
      reached = sample;
      if (!read(sample))
        return;
    }
  });
  return whole ? runtime::Status() : cutShort(tensor, reached);
}

/// Copies the bytes of a tensor's samples, all of one size; fails if some are
/// missing.
runtime::Status copySamples(const std::string &tensor, int64_t samples,
                            std::span<const uint8_t> from, uint8_t *to);

} // namespace gradus::data
