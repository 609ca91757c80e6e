// Reads of mapped files. Where a file is cut short while it is mapped, the
// system has no page for the rest and sends SIGBUS: here that is an answer.

#pragma once

namespace gradus::data {

/// Calls `read(argument)`; false where bytes that it read are gone. Then it was
/// left in the middle, so it must own nothing.
bool guardedRead(void (*read)(const void *argument), const void *argument);

/// The same of a function object.
template <typename Read> bool readsWhole(const Read &read) {
  return guardedRead([](const void *it) { (*static_cast<const Read *>(it))(); },
                     &read);
}

} // namespace gradus::data
