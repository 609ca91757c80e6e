// Structs of the C API that begin with their size: programs give those of their
// own version.

#pragma once

#include "runtime/status.h"

#include <algorithm>
#include <cstddef>

namespace gradus::runtime {

/// Returns options of this version: the fields that the caller's have, and the
/// defaults of others. Fails where the caller's have fields that this version
/// does not know. `name` is the struct's.
template <typename Options>
StatusOr<Options> complete(const Options *given, Options options,
                           const char *name) {
  if (!given)
    return options;
  constexpr size_t kLargest = 4096; // of any version; more is no size
  size_t size = given->size;
  if (size < sizeof(size) || size > kLargest)
    return invalid(name, ": its field `size` is ", size, ", expected ",
                   sizeof(Options), ", as its default has it");
  const char *bytes = reinterpret_cast<const char *>(given);
  if (size > sizeof(Options) &&
      std::any_of(bytes + sizeof(Options), bytes + size,
                  [](char byte) { return byte != 0; }))
    return invalid(name, ": it has ", size, " bytes, of which this version, ",
                   GRADUS_VERSION, ", knows ", sizeof(Options),
                   ": an option that is set needs a later version");
  std::copy_n(bytes, std::min(size, sizeof(Options)),
              reinterpret_cast<char *>(&options));
  options.size = sizeof(Options);
  return options;
}

} // namespace gradus::runtime
