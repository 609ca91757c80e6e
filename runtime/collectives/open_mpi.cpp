// Opens the plug-in for MPI.

#include "runtime/collectives/open_mpi.h"

#include "runtime/build_name.h"
#include "runtime/plug_in.h"

namespace gradus::runtime {

static StatusOr<SharedLibrary> load() {
  return loadPlugIn({"GRADUS_MPI_LIBRARY", "libgradus_mpi.so", kOpenMpi});
}

StatusOr<std::string> mpiLibrary() {
  GRADUS_ASSIGN(SharedLibrary library, load());
  return library.file();
}

StatusOr<OpenCommunicator> openMpi() {
  auto library = load();
  GRADUS_TRY(at(library.status(), "MPI"));
  OpenMpi *open = library->function<OpenMpi>(kOpenMpi);
  return OpenCommunicator([open]() -> StatusOr<std::unique_ptr<Communicator>> {
    std::string error;
    std::unique_ptr<Communicator> opened(
        open(GRADUS_VERSION, &error, GRADUS_BUILD));
    if (!opened)
      return failed("MPI: ", error);
    return opened;
  });
}

} // namespace gradus::runtime
