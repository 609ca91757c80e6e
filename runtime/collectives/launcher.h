// The launcher that has started this process as one of several, such as mpirun
// or srun, as the variables that it sets say.

#pragma once

#include "runtime/status.h"

#include <optional>

namespace gradus::runtime {

/// A process that a launcher has started.
struct Launched {
  int processes = 1;
  int number = 0;                 // of this one, from 0 on
  const char *variable = nullptr; // that says how many there are
};

/// Nothing if no launcher has set its variables. In a job of Slurm only the
/// steps that srun has started count, not the batch script itself.
std::optional<Launched> launched();

/// Refuses a process of several whose MPI believes that it is alone: another
/// MPI's mpirun, or srun without PMIx. Each would train by itself and write the
/// same files. `library` is the name of the MPI that is used.
Status checkLaunched(int ranks, const std::string &library);

} // namespace gradus::runtime
