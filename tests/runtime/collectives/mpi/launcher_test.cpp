#include "runtime/collectives/mpi/launcher.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace gradus::runtime;

namespace {

struct Launched : testing::Test {
  void SetUp() override {
    for (const char *name :
         {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"})
      unsetenv(name);
  }
};

} // namespace

TEST_F(Launched, MayBeAlone) { EXPECT_TRUE(checkLaunched(1, "MPI").ok()); }

TEST_F(Launched, IsRefusedWhereOthersWereStarted) {
  for (const char *name : {"PMI_SIZE", "SLURM_NTASKS"}) {
    setenv(name, "4", 1);
    EXPECT_TRUE(checkLaunched(4, "MPI").ok());
    EXPECT_EQ(checkLaunched(1, "Open MPI v4").message(),
              inWords("the launcher has started 4 processes (", name,
                      "), but to Open MPI v4 this one is alone: start with "
                      "that MPI's mpirun, or with srun --mpi=pmix"));
    unsetenv(name);
  }
}

/// mpirun -n 1 in a job of Slurm for four.
TEST_F(Launched, BelievesTheInnermostLauncher) {
  setenv("SLURM_NTASKS", "4", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  EXPECT_TRUE(checkLaunched(1, "MPI").ok());
}

TEST_F(Launched, IgnoresWhatIsNoNumber) {
  setenv("PMI_SIZE", "many", 1);
  EXPECT_TRUE(checkLaunched(1, "MPI").ok());
}
