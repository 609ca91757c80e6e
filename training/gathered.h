// Batches whose gradients a step has gathered and not applied yet.

#pragma once

#include "runtime/session/session.h"

#include <optional>
#include <string>

namespace gradus::training {

/// The value of a counter; nothing if there is no such state.
std::optional<int64_t> counterOf(const runtime::Session &session,
                                 const std::string &name);

/// The number of batches since the last update, of which each takes
/// `perUpdate`; 0 where each batch makes one.
int64_t gatheredBatches(const runtime::Session &session, int64_t perUpdate);

} // namespace gradus::training
