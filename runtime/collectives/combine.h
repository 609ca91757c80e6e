// The combination of elements of two ranks, and of many by the one tree.

#pragma once

#include "runtime/collectives/collective.h"

#include <cstddef>
#include <span>
#include <vector>

namespace gradus::runtime {

/// Sets `result` to the combination of `lower` and `upper`, which belong to the
/// lower and the higher ranks. The result may be one of both. All are aligned
/// as their elements are. Denormals are as the thread's mode says
/// (runtime/float_mode.h), but for those of f16, which are always kept.
void combine(Reduction reduction, DType type, const void *lower,
             const void *upper, void *result, size_t count);

/// Sets `result` to the values of several ranks, in their order, combined by
/// the tree of runtime/collectives/rounds.h. The values are overwritten, and
/// the list too; the result may be one of them.
void combineAll(Reduction reduction, DType type, std::span<uint8_t *> values,
                void *result, size_t count);

/// Puts the own value among those of others, which are in the order of ranks:
/// in front of the first whose rank is higher, by `isHigher(index)`.
template <typename IsHigher>
void insertOwn(std::vector<uint8_t *> &others, uint8_t *own,
               const IsHigher &isHigher) {
  size_t place = 0;
  while (place < others.size() && !isHigher(place))
    ++place;
  others.insert(others.begin() + static_cast<std::ptrdiff_t>(place), own);
}

} // namespace gradus::runtime
