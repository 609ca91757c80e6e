// The sums over ranks that a command begins: its buffers, neighbours of them
// together; and the groups in which commands combine ranks.

#pragma once

#include "runtime/artifact_generated.h"
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

} // namespace gradus::runtime
