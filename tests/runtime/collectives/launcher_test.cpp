#include "runtime/collectives/launcher.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace gradus::runtime;

namespace {

struct LaunchedProcess : testing::Test {
  void SetUp() override {
    for (const char *name :
         {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE",
          "PMI_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_PROCID"})
      unsetenv(name);
  }
};

} // namespace

TEST_F(LaunchedProcess, MayBeAlone) {
  EXPECT_FALSE(launched());
  EXPECT_TRUE(checkLaunched(1, "MPI").ok());
}

TEST_F(LaunchedProcess, KnowsItsNumber) {
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  ASSERT_TRUE(launched());
  EXPECT_EQ(launched()->processes, 4);
  EXPECT_EQ(launched()->number, 3);
}

TEST_F(LaunchedProcess, IsRefusedWhereOthersWereStarted) {
  for (const char *name : {"PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    setenv(name, "4", 1);
    EXPECT_TRUE(checkLaunched(4, "MPI").ok());
    EXPECT_EQ(checkLaunched(1, "Open MPI v4").message(),
              inWords("the launcher has started 4 processes (", name,
                      "), but to Open MPI v4 this one is alone: start with "
                      "that MPI's mpirun, or with srun --mpi=pmix"));
    unsetenv(name);
  }
}

/// mpirun -n 1 in a step of Slurm for four.
TEST_F(LaunchedProcess, BelievesTheInnermostLauncher) {
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  EXPECT_TRUE(checkLaunched(1, "MPI").ok());
}

/// A script of sbatch for four tasks is one process until srun starts others.
TEST_F(LaunchedProcess, IsNoneInABatchScript) {
  setenv("SLURM_NTASKS", "4", 1);
  setenv("SLURM_PROCID", "0", 1);
  EXPECT_FALSE(launched());
}

TEST_F(LaunchedProcess, IgnoresWhatIsNoNumber) {
  setenv("PMI_SIZE", "many", 1);
  EXPECT_FALSE(launched());
}
