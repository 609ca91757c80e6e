// Compares MPI's number of processes with the launcher's.

#include "runtime/collectives/mpi/launcher.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace gradus::runtime {

/// Variables that say how many processes a launcher has started, the innermost
/// launcher's first: mpirun may stand in a job of Slurm.
static constexpr const char *kCounts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                          "SLURM_NTASKS"};

Status checkLaunched(int ranks, const std::string &library) {
  for (const char *name : kCounts) {
    const char *text = std::getenv(name);
    int count = 0;
    if (!text || std::from_chars(text, text + std::strlen(text), count).ec !=
                     std::errc())
      continue;
    if (count > 1 && ranks == 1)
      return invalid("the launcher has started ", count, " processes (", name,
                     "), but to ", library,
                     " this one is alone: start with that MPI's mpirun, or "
                     "with srun --mpi=pmix");
    return {};
  }
  return {};
}

} // namespace gradus::runtime
