// How the element of an access moves from one lane of a vector to the next.
#pragma once

#include "codegen/nest_access.h"

namespace gradus {

/// How the element of an access moves along one dimension, as far as vectors
/// can make use of it.
struct LaneStep {
  enum Kind {
    same,      // it does not
    next,      // to the next element
    strided,   // by `by` elements, a few
    repeated,  // to the next element every `by` positions, from a multiple of
               // `by`
    scattered, // in another way, or guarded in a way that only `next` bears
  } kind;
  int64_t by = 1;
};

/// For vectors of `lanes` that start at multiples of it.
LaneStep laneStep(const Nest &nest, const Access &access, unsigned dim,
                  unsigned lanes);

} // namespace gradus
