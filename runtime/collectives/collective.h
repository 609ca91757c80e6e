// A collective: what all ranks do together to a buffer of each.
//
// All work in place. A buffer has `count` elements on every rank. For
// reduceScatter and allGather it falls into a part for each rank (partOf()).

#pragma once

#include "runtime/status.h"
#include "runtime/tensor_type.h"

#include <memory>
#include <string>
#include <vector>

namespace gradus::runtime {

enum class CollectiveOp {
  allReduce,     // every rank has the result
  reduceScatter, // a rank has its part of the result; the rest is undefined
  allGather,     // every rank has the parts of all
  broadcast,     // every rank has what `root` had
  groupReduce,   // every rank has the result, which is made as `groups` says
};

/// The combination of the elements of two ranks, the lower one's first. Floats
/// give NaN if one is NaN, always the same one. Of equal elements (0 and -0)
/// the minimum and the maximum are the first. Integers wrap around. Booleans
/// have no sum; their minimum is "and", their maximum "or".
enum class Reduction { sum, minimum, maximum };

/// Groups of ranks make this of their results.
enum class Across {
  nothing,     // each keeps its own
  adasum,      // the AdaSum of each tensor (runtime/collectives/adasum.h)
  adasumOfAll, // that of all tensors as one vector
};

/// The half of a sum that ranks compute, or all of it.
enum class Parts {
  reduceAndGather,
  reduce, // Each rank has its part of the result; the rest is undefined.
  gather, // All ranks have the parts of all.
};

/// The elements of a tensor.
struct Member {
  void *data = nullptr; // aligned as its elements are
  uint64_t count = 0;
};

/// A reduction on two levels: neighbouring ranks are a group, and groups
/// combine what they have. The number of groups may be any.
struct Groups {
  int within = 1;        // ranks of a group, or all ranks if these are fewer;
                         // 0: those of a host
  bool averages = false; // A group makes the mean of its ranks, else their sum.
  Across across = Across::nothing;
  double epsilon = 0;                   // added by each group to a dot product
  Parts parts = Parts::reduceAndGather; // another is of groups of all ranks
  uint64_t unit = 0; // A part has a multiple of so many elements; 0: 64 bytes.
  std::vector<Member> members;
};

struct Collective {
  CollectiveOp op = CollectiveOp::allReduce;
  Reduction reduction = Reduction::sum; // of allReduce and reduceScatter
  DType type = DType::f32;
  void *data = nullptr; // aligned as its elements are
  uint64_t count = 0;   // of elements
  int root = 0;         // of broadcast
  /// The tensors of a groupReduce, of f32 or f64; it has no `data` and `count`.
  std::shared_ptr<const Groups> groups = nullptr;
};

/// Whether a collective combines elements, rather than only moving them.
bool reduces(const Collective &collective);

/// Refuses a sum of booleans, a root that is none of the ranks, and groups that
/// the ranks do not fill. Those of a host are not known here.
Status check(const Collective &collective, int ranks);

/// Refuses groups that a number of ranks does not fill.
Status checkWithin(int within, int ranks);

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
/// The same of parts that are multiples of `unit` elements.
Range partInUnits(uint64_t count, uint64_t unit, int ranks, int rank);

/// A collective for people: "all-reduce of 4096 f32".
std::string inWords(const Collective &collective);

} // namespace gradus::runtime
