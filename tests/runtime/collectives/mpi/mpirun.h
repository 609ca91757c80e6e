// Starts ranks by mpirun, as root too, and on a machine with fewer cores.
#pragma once

#include "runtime/status.h"
#include "tests/this_build.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace gradus::runtime {

/// What a shell command has printed, and how it ended.
struct Printed {
  std::string text;
  int code = -1;
};

inline Printed inShell(const std::string &command) {
  Printed printed;
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  char text[4096];
  while (size_t size = pipe ? fread(text, 1, sizeof(text), pipe) : 0)
    printed.text.append(text, size);
  int status = pipe ? pclose(pipe) : -1;
  printed.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return printed;
}

/// Sets the variables of a rank. Open MPI keeps memory until a process ends.
inline std::string variables() {
  return "GRADUS_MPI_LIBRARY=" GRADUS_BINARY_DIR "/lib/libgradus_mpi.so "
         "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" ";
}

/// Runs tests/bin/mpi_rank on so many ranks.
inline Printed mpirun(int ranks, const std::string &kind,
                      const std::string &options = "") {
  return inShell(inWords(
      variables(),
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -s "
      "KILL 120 mpirun --oversubscribe --bind-to none ",
      options, " -n ", ranks, " ", GRADUS_BINARY_DIR, "/tests/bin/mpi_rank ",
      kind));
}

#define GRADUS_NEEDS_MPIRUN()                                                  \
  if (std::system("command -v mpirun >/dev/null"))                             \
  GTEST_SKIP() << "there is no mpirun (openmpi-bin)"

} // namespace gradus::runtime
