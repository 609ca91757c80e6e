// The launcher of processes, and whether MPI knows it.

#pragma once

#include "runtime/status.h"

namespace gradus::runtime {

/// Refuses a process of several whose MPI believes that it is alone: another
/// MPI's mpirun, or srun without PMIx. Each would train by itself and write the
/// same files. `library` is the name of the MPI that is used.
Status checkLaunched(int ranks, const std::string &library);

} // namespace gradus::runtime
