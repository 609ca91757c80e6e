// The folder of the file that the runtime is linked into.

#include "runtime/own_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace fs = std::filesystem;

TEST(OwnFolder, IsThisProgramsWhereverItRuns) {
  fs::path here = fs::current_path(),
           own = fs::canonical("/proc/self/exe").parent_path();
  EXPECT_EQ(gradus::runtime::ownFolder(), own.string());
  fs::current_path(fs::temp_directory_path());
  EXPECT_EQ(gradus::runtime::ownFolder(), own.string());
  fs::current_path(here);
}
