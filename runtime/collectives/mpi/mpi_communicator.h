// Ranks over MPI: point-to-point messages, all from one thread.
//
// Works with any MPI 3. Bytes and control messages have a communicator each.

#pragma once

#include "runtime/collectives/communicator.h"

namespace gradus::runtime {

/// Initializes MPI in this thread, which must call all else; once in a process.
/// `build` is this rank's.
StatusOr<std::unique_ptr<Communicator>>
openMpiCommunicator(const std::string &build);

} // namespace gradus::runtime
