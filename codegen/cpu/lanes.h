// The step of an access's element from one lane of a vector to the next.
#pragma once

#include "codegen/plan/nest_access.h"

namespace gradus {

/// The step of an access's element along one dimension, in the cases that
/// vectors can exploit.
struct LaneStep {
  enum Kind {
    same,      // it does not move
    next,      // to the next element
    strided,   // by `by` elements, a few
    repeated,  // to the next element every `by` positions, from a multiple of
               // `by`
    scattered, // in another way, or with a guard that only `next` supports
  } kind;
  int64_t by = 1;
};

/// The dimension along which an access that is far apart from lane to lane has
/// neighbours, so that `lanes` vectors along it are those along the lanes,
/// transposed; -1 if there is none.
int transposedDim(const Nest &nest, const Access &access, unsigned dim,
                  unsigned lanes);

/// The step for vectors of `lanes` that start at multiples of it.
LaneStep laneStep(const Nest &nest, const Access &access, unsigned dim,
                  unsigned lanes);

} // namespace gradus
