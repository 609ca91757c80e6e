// Agreement among ranks: facts that must be equal, failures that end all, and
// what rank 0 decides.
//
// All ranks call these functions together, in turn with collectives.

#pragma once

#include "runtime/collectives/communication_thread.h"

#include <utility>

namespace gradus::runtime {

/// Facts that must be the same on all ranks, each with a name for people:
/// {"the recipe's optimizer.learning_rate", "0.1"}.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Compares each rank's facts with those of rank 0, by name. All ranks return
/// the same error, which names the lowest rank that differs, and the first
/// difference. The group lives on.
Status agree(CommunicationThread &thread, const Facts &facts);

/// Settles whether all ranks go on from a point to which all come. `found`, the
/// failure that each has by itself, becomes that of the lowest rank that has
/// one, with its name in front; the same on all. The group lives
/// on, as there may be something left to do before its end. The error is the
/// group's.
Status settle(CommunicationThread &thread, Status &found);

/// The texts of all ranks, in their order, on rank 0; nothing elsewhere.
StatusOr<std::vector<std::string>> atRankZero(CommunicationThread &thread,
                                              std::string_view own);

/// The text of rank 0, on all ranks; those of others are not looked at.
StatusOr<std::string> fromRankZero(CommunicationThread &thread,
                                   std::string text);

} // namespace gradus::runtime
