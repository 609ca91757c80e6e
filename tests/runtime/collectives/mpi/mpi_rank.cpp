// A rank that tests start by mpirun: what its first argument says happens, and
// it prints what it sees, a line beginning with its rank.

#include "tests/runtime/collectives/mpi/many_collectives.h"

#include "runtime/collectives/agreement.h"
#include "runtime/collectives/launcher.h"
#include "runtime/collectives/open_mpi.h"
#include "runtime/plug_in.h"

#include <csignal>
#include <cstdio>

using namespace gradus::runtime;

namespace {

/// Prints a line by one write, so that lines of two ranks do not mix.
void say(int rank, const std::string &words) {
  std::string line = inWords("rank ", rank, ": ", words, "\n");
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

Status sumOfOne(CommunicationThread &rank) {
  float value = 1;
  return rank.finish(rank.begin({.data = &value, .count = 1}));
}

/// Rank 1 has an accident in a step; the others go on until they hear of it.
Status haveAccident(CommunicationThread &rank, const std::string &kind) {
  GRADUS_TRY(sumOfOne(rank));
  if (rank.rank() == 1) {
    if (kind == "killed")
      raise(SIGKILL);
    if (kind == "stopped")
      raise(SIGSTOP);
    if (kind == "fails")
      return rank.fail(invalid("cat.png: no image"));
  }
  for (;;)
    GRADUS_TRY(sumOfOne(rank));
}

Status run(CommunicationThread &rank, const std::string &kind) {
  if (kind == "many" || kind == "fails")
    say(rank.rank(), hashOfMany(rank));
  if (kind == "many")
    return {};
  if (kind == "fails")
    say(rank.rank(),
        agree(rank, {{"the number", inWords(rank.rank())}}).message());
  return haveAccident(rank, kind);
}

/// Opens MPI; rank 2 of a group of several builds is of another one.
StatusOr<OpenCommunicator> openAs(const std::string &kind) {
  if (kind != "other_build" || launched().value_or(Launched()).number != 2)
    return openMpi();
  GRADUS_ASSIGN(
      SharedLibrary library,
      loadPlugIn({"GRADUS_MPI_LIBRARY", "libgradus_mpi.so", kOpenMpi}));
  OpenMpi *open = library.function<OpenMpi>(kOpenMpi);
  return OpenCommunicator([open]() -> StatusOr<std::unique_ptr<Communicator>> {
    std::string error;
    return std::unique_ptr<Communicator>(
        open(GRADUS_VERSION, &error, "0.0.1 (sources 0123456789ab)"));
  });
}

} // namespace

int main(int, char **arguments) {
  auto open = openAs(arguments[1]);
  if (!open.ok())
    return say(-1, open.status().message()), 2;
  LivenessOptions options = patient();
  if (std::string_view(arguments[1]) == "killed" ||
      std::string_view(arguments[1]) == "stopped")
    options.limit = std::chrono::seconds(1);
  auto rank = CommunicationThread::start(*open, options);
  if (!rank.ok())
    return say(-1, rank.status().message()), 2;
  Status status = run(**rank, arguments[1]);
  if (!status.ok())
    say((*rank)->rank(), status.message());
  (void)(*rank)->end();
  return status.ok() ? 0 : 3;
}
