// Parts: groups of parameters, of which one is shared in each update.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace gradus {

/// The part of each item, from 0 on: the largest first, and of equal ones the
/// first, each goes to the part that has the fewest bytes by then. No part is
/// empty where there are as many items as parts, none of which is empty.
std::vector<int64_t> partsByBytes(llvm::ArrayRef<int64_t> bytes, int64_t parts);

/// SINGA's rule, of which both comparisons are strict: an item of more than
/// `most` elements is a part by itself and leaves the open one open; others
/// join until they have more. Parts are counted as they are closed.
std::vector<int64_t> partsByElements(llvm::ArrayRef<int64_t> elements,
                                     int64_t most);

} // namespace gradus
