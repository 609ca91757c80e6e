// The function that libgradus_mpi.so exports.

#include "runtime/plug_in.h"
#include "runtime/collectives/mpi/mpi_communicator.h"
#include "runtime/collectives/open_mpi.h"

using namespace gradus::runtime;

extern "C" __attribute__((visibility("default"))) Communicator *
gradus_open_mpi(const char *version, std::string *error, const char *build) {
  *error = versionRefusal("libgradus_mpi.so", GRADUS_VERSION, version);
  return error->empty() ? handOver(openMpiCommunicator(build), error) : nullptr;
}
