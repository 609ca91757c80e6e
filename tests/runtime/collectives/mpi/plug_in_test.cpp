// The function that libgradus_mpi.so exports, and the way to it.

#include "runtime/collectives/open_mpi.h"
#include "runtime/plug_in.h"
#include "tests/this_build.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace gradus::runtime;

TEST(MpiPlugIn, ServesRuntimesOfItsOwnVersion) {
  setenv("GRADUS_MPI_LIBRARY", GRADUS_BINARY_DIR "/lib/libgradus_mpi.so", 1);
  auto library =
      loadPlugIn({"GRADUS_MPI_LIBRARY", "libgradus_mpi.so", kOpenMpi});
  unsetenv("GRADUS_MPI_LIBRARY");
  ASSERT_TRUE(library.ok()) << library.status();
  std::string error;
  EXPECT_FALSE(library->function<OpenMpi>(kOpenMpi)("0.0.1", &error, ""));
  EXPECT_EQ(error, "libgradus_mpi.so is of Gradus " GRADUS_VERSION
                   ", and this is Gradus 0.0.1");
}
