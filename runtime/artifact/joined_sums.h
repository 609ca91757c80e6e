// The sums over ranks that a command begins: its buffers, neighbours of them
// together; the groups in which commands combine ranks; and what they gather.

#pragma once

#include "runtime/artifact_generated.h"
#include "runtime/status.h"
#include "runtime/tensor_type.h"

#include <vector>

namespace gradus::runtime {

/// Elements that are summed as one, from the first element of a buffer on.
struct JoinedSum {
  uint32_t buffer;
  DType type;
  uint64_t count;
};

/// The sums of a command of a verified plan, in the order in which they begin.
/// Buffers of one type that follow each other are one sum with the padding
/// between them: it is changed, but no command reads it, and none uses it
/// before the sum has ended (runtime/artifact/verify_sums.cpp).
std::vector<JoinedSum> joinedSums(const artifact::Plan &plan,
                                  const artifact::StartCommand &command);

/// The groups in which commands of a plan combine what ranks have.
std::vector<const artifact::RankGroups *> groupsOf(const artifact::Plan &plan);

/// Whether a command gathers the parts of ranks, rather than combining them.
bool gathers(const artifact::StartCommand &command);

/// Refuses buffers that a plan gathers, but that do not fall into as many parts
/// of whole lines of 64 bytes as there are ranks.
Status checkGathered(const artifact::Plan &plan, int64_t ranks);

} // namespace gradus::runtime
