// A run of a file of a recorded case, which is a test.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <ostream>
#include <string>

namespace gradus::check {

/// An optimizer and its steps, of one file.
struct NamedRun {
  std::filesystem::path folder;
  std::string file, run;
};

inline std::ostream &operator<<(std::ostream &stream, const NamedRun &one) {
  return stream << one.folder.string() << " " << one.file << " " << one.run;
}

/// As GoogleTest takes names: letters and digits.
template <typename Run>
std::string nameOf(const ::testing::TestParamInfo<Run> &info) {
  std::string name = info.param.folder.filename().string() + "_" +
                     std::filesystem::path(info.param.file).stem().string() +
                     "_" + info.param.run;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

} // namespace gradus::check
