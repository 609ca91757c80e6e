// A collective: what all ranks do together to a buffer of each.
//
// All work in place. A buffer has `count` elements on every rank. For
// reduceScatter and allGather it falls into a part for each rank (partOf()).

#pragma once

#include "runtime/status.h"
#include "runtime/tensor_type.h"

#include <string>

namespace gradus::runtime {

enum class CollectiveOp {
  allReduce,     // every rank has the result
  reduceScatter, // a rank has its part of the result; the rest is undefined
  allGather,     // every rank has the parts of all
  broadcast,     // every rank has what `root` had
};

/// The combination of the elements of two ranks, the lower one's first. Floats
/// give NaN if one is NaN, always the same one. Of equal elements (0 and -0)
/// the minimum and the maximum are the first. Integers wrap around. Booleans
/// have no sum; their minimum is "and", their maximum "or".
enum class Reduction { sum, minimum, maximum };

struct Collective {
  CollectiveOp op = CollectiveOp::allReduce;
  Reduction reduction = Reduction::sum; // of allReduce and reduceScatter
  DType type = DType::f32;
  void *data = nullptr; // aligned as its elements are
  uint64_t count = 0;   // of elements
  int root = 0;         // of broadcast
};

/// Whether a collective combines elements, rather than only moving them.
bool reduces(const Collective &collective);

/// Refuses a sum of booleans, and a root that is none of the ranks.
Status check(const Collective &collective, int ranks);

/// The elements [begin, end) of a buffer.
struct Range {
  uint64_t begin = 0, end = 0;

  uint64_t count() const { return end - begin; }
  bool operator==(const Range &) const = default;
};

/// The elements of a rank's part. Parts are equal, whole multiples of 64 bytes;
/// the last ones may be shorter or empty. So if `count` is `ranks` times a
/// multiple of 64 bytes, all parts are equal.
Range partOf(uint64_t count, DType type, int ranks, int rank);

/// A collective for people: "all-reduce of 4096 f32".
std::string inWords(const Collective &collective);

} // namespace gradus::runtime
