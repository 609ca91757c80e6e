// The folder of the file that the runtime is linked into.

#include "runtime/own_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sys/auxv.h>

namespace fs = std::filesystem;

using namespace gradus::runtime;

TEST(OwnFolder, IsThisProgramsWhereverItRuns) {
  fs::path here = fs::current_path(),
           own = fs::canonical("/proc/self/exe").parent_path();
  EXPECT_EQ(ownFolder(), own.string());
  fs::current_path(fs::temp_directory_path());
  EXPECT_EQ(ownFolder(), own.string());
  fs::current_path(here);
}

// The path by which the program was started says where it is, if there is no
// /proc and the path is a whole one. The current folder is never asked.
TEST(OwnFolder, IsOfWhatWasStartedWhereThereIsNoProc) {
  std::string own = fs::canonical("/proc/self/exe"),
              started = reinterpret_cast<const char *>(getauxval(AT_EXECFN));
  EXPECT_EQ(programFile(), own);
  EXPECT_EQ(programFile("/nowhere/self/exe"), started[0] == '/' ? own : "");
}
