// A folder of one test, which no other process has.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gradus::curvature {

/// Makes an empty folder, and removes it with all that is in it.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = testing::TempDir() + "/gradus.XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr) << name;
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string file(const std::string &name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

} // namespace gradus::curvature
