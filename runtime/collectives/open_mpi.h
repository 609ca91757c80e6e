// Ranks that are processes started together by an MPI launcher. The library
// libgradus_mpi.so does the work and is opened when this is called, so nothing
// else needs MPI.

#pragma once

#include "runtime/collectives/communicator.h"

namespace gradus::runtime {

/// Finds libgradus_mpi.so. The opener initializes MPI in the thread that calls
/// it, once in a process; leave() finalizes it.
StatusOr<OpenCommunicator> openMpi();

/// The path of libgradus_mpi.so, which is opened with the MPI that it needs.
StatusOr<std::string> mpiLibrary();

/// The function that libgradus_mpi.so exports; null with words in `error`.
/// `version` is the runtime's, which must be that of the plug-in; `build` is
/// what the others are told as Communicator::build() of this rank.
using OpenMpi = Communicator *(const char *version, std::string *error,
                               const char *build);
constexpr const char *kOpenMpi = "gradus_open_mpi";

} // namespace gradus::runtime
