// Structs of the C API that begin with their size: programs give those of their
// own version.

#pragma once

#include "runtime/gradus.h"
#include "runtime/status.h"

#include <algorithm>
#include <cstddef>

namespace gradus::runtime {

/// Writes the defaults into the `size` bytes that a program has for options of
/// its own version.
template <typename Options>
void setDefaults(Options *options, size_t size, Options defaults) {
  if (!options || size < sizeof(size))
    return;
  auto *to = reinterpret_cast<char *>(options);
  defaults.size = size;
  size_t known = std::min(size, sizeof(Options));
  std::copy_n(reinterpret_cast<const char *>(&defaults), known, to);
  std::fill(to + known, to + size, 0);
}

/// Returns options of this version: the fields that the caller's have, and the
/// defaults of others. Fails where the caller's have fields that this version
/// does not know, or fewer than the first version had, of `first` bytes. `name`
/// is the struct's.
template <typename Options>
StatusOr<Options> complete(const Options *given, Options options, size_t first,
                           const char *name) {
  if (!given)
    return options;
  constexpr size_t kLargest = 4096; // of any version; more is no size
  size_t size = given->size;
  if (size < first || size > kLargest)
    return invalid(name, ": its field `size` is ", size, ", expected ",
                   sizeof(Options), ", as its default has it");
  const char *bytes = reinterpret_cast<const char *>(given);
  if (size > sizeof(Options) &&
      std::any_of(bytes + sizeof(Options), bytes + size,
                  [](char byte) { return byte != 0; }))
    return invalid(name, ": it has ", size, " bytes, of which this version, ",
                   gradus_version(), ", knows ", sizeof(Options),
                   ": an option that is set needs a later version");
  std::copy_n(bytes, std::min(size, sizeof(Options)),
              reinterpret_cast<char *>(&options));
  options.size = sizeof(Options);
  return options;
}

} // namespace gradus::runtime
