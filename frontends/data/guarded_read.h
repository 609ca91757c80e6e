// Reads of mapped files. Where a file is cut short while it is mapped, the
// system has no page for the rest and sends SIGBUS: here that is an answer.

#pragma once

#include "runtime/status.h"

#include <cstdint>
#include <span>
#include <string>

namespace gradus::data {

/// Calls `read(argument)`; false where bytes that it read are gone. Then it was
/// left in the middle, so it must own nothing.
bool guardedRead(void (*read)(const void *argument), const void *argument);

/// The same of a function object.
template <typename Read> bool readsWhole(const Read &read) {
  return guardedRead([](const void *it) { (*static_cast<const Read *>(it))(); },
                     &read);
}

/// The error of a sample whose bytes are gone; it names the tensor, too.
runtime::Status cutShort(const std::string &tensor, int64_t sample);

/// Calls `read(sample)` for each sample of a tensor until it says false; fails
/// where bytes that it read are gone.
template <typename Read>
runtime::Status readSamples(const std::string &tensor, int64_t samples,
                            const Read &read) {
  volatile int64_t reached = 0; // a fault leaves the loop in its middle
  bool whole = readsWhole([&] {
    for (int64_t sample = 0; sample < samples; ++sample) {
      reached = sample;
      if (!read(sample))
        return;
    }
  });
  return whole ? runtime::Status() : cutShort(tensor, reached);
}

/// Copies the bytes of a tensor's samples, all of one size; fails where some
/// are gone.
runtime::Status copySamples(const std::string &tensor, int64_t samples,
                            std::span<const uint8_t> from, uint8_t *to);

} // namespace gradus::data
