// Reads what launchers leave in the environment.

#include "runtime/collectives/launcher.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace gradus::runtime {

namespace {

/// The variables of a launcher: the processes of the job, this one's number.
struct Variables {
  const char *processes, *number;
};

/// The innermost launcher's are first: mpirun may stand in a step of Slurm.
constexpr Variables kVariables[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMI_SIZE", "PMI_RANK"},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};

std::optional<int> numberIn(const char *variable) {
  const char *text = std::getenv(variable);
  int number = 0;
  if (!text ||
      std::from_chars(text, text + std::strlen(text), number).ec != std::errc())
    return std::nullopt;
  return number;
}

} // namespace

std::optional<Launched> launched() {
  for (const Variables &each : kVariables)
    if (auto processes = numberIn(each.processes))
      return Launched{*processes, numberIn(each.number).value_or(0),
                      each.processes};
  return std::nullopt;
}

Status checkLaunched(int ranks, const std::string &library) {
  auto found = launched();
  if (!found || found->processes <= 1 || ranks > 1)
    return {};
  return invalid("the launcher has started ", found->processes, " processes (",
                 found->variable, "), but to ", library,
                 " this one is alone: start with that MPI's mpirun, or with "
                 "srun --mpi=pmix");
}

} // namespace gradus::runtime
