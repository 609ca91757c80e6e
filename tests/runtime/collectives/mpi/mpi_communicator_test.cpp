#include "tests/runtime/collectives/mpi/many_collectives.h"
#include "tests/runtime/collectives/mpi/mpirun.h"

using namespace gradus::runtime;
using testing::HasSubstr;

namespace {

void expectTheBitsOfThreads(int ranks, const Printed &printed) {
  onRanks(inProcess(ranks), [&](CommunicationThread &rank) {
    std::string hash = hashOfMany(rank);
    EXPECT_EQ(hash.size(), 16u) << hash;
    EXPECT_THAT(printed.text,
                HasSubstr(inWords("rank ", rank.rank(), ": ", hash, "\n")));
  });
}

} // namespace

TEST(MpiCommunicator, GivesTheBitsOfThreads) {
  GRADUS_NEEDS_MPIRUN();
  Printed printed = mpirun(3, "many");
  EXPECT_EQ(printed.code, 0);
  expectTheBitsOfThreads(3, printed);
}

/// Two ranks add, find a difference, and go on until one fails.
TEST(MpiCommunicator, BringsSumsDifferencesAndFailures) {
  GRADUS_NEEDS_MPIRUN();
  Printed printed = mpirun(2, "fails");
  expectTheBitsOfThreads(2, printed);
  for (int rank : {0, 1}) {
    std::string own = inWords("rank ", rank, ": ");
    EXPECT_THAT(
        printed.text,
        testing::ContainsRegex(
            own + "the number is 0 on rank 0 \\(.*\\), and 1 on rank 1"));
    EXPECT_THAT(printed.text, testing::ContainsRegex(
                                  own + "rank 1 \\(.*\\): cat.png: no image"));
  }
  EXPECT_EQ(printed.code, 3);
}

/// The launcher leaves the others alone, so it is we who find it.
TEST(MpiCommunicator, FindsAKilledRank) {
  GRADUS_NEEDS_MPIRUN();
  Printed printed = mpirun(3, "killed", "--enable-recovery");
  for (int rank : {0, 2})
    EXPECT_THAT(printed.text, testing::ContainsRegex(inWords(
                                  "rank ", rank,
                                  ": rank 1 \\(.*\\) is gone: it was killed")));
}

TEST(MpiCommunicator, FindsAStoppedRank) {
  GRADUS_NEEDS_MPIRUN();
  Printed printed = mpirun(2, "stopped");
  EXPECT_THAT(printed.text,
              testing::ContainsRegex(
                  "rank 0: rank 1 \\(.*\\) has given no sign of life"));
}

/// All learn it before anything else, and need not be killed.
TEST(MpiCommunicator, IsRefusedAmongOtherBuilds) {
  GRADUS_NEEDS_MPIRUN();
  Printed printed = mpirun(3, "other_build", "--enable-recovery");
  std::string words =
      "rank 2 \\(.*\\) runs Gradus 0\\.0\\.1 \\(sources 0123456789ab\\), and "
      "rank 0 \\(.*\\) runs Gradus .* \\(sources [0-9a-f]{12}\\): start the "
      "same build on all hosts\n";
  EXPECT_THAT(printed.text,
              testing::ContainsRegex("(rank -1: " + words + ".*){3}"))
      << printed.text;
}

TEST(MpiCommunicator, IsRefusedWhereTheLauncherIsAnother) {
  GRADUS_NEEDS_MPIRUN();
  Printed printed =
      inShell(inWords(variables(), "PMI_SIZE=4 ", GRADUS_BINARY_DIR,
                      "/tests/bin/mpi_rank many"));
  EXPECT_EQ(printed.code, 2);
  EXPECT_THAT(printed.text,
              HasSubstr("the launcher has started 4 processes (PMI_SIZE), but "
                        "to Open MPI v"));
}
