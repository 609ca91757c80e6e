#include "runtime/collectives/open_mpi.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace gradus::runtime;

/// Without the plug-in all else works, and this says what is missing.
TEST(OpenMpi, SaysWhatIsMissing) {
  setenv("GRADUS_MPI_LIBRARY", "no-such-library.so", 1);
  auto open = openMpi();
  EXPECT_EQ(open.status().message(),
            inWords("MPI: ", mpiLibrary().status().message()));
  unsetenv("GRADUS_MPI_LIBRARY");
  EXPECT_TRUE(open.status().message().starts_with(
      "MPI: needs libgradus_mpi.so, which cannot be loaded: "
      "no-such-library.so"))
      << open.status();
}
