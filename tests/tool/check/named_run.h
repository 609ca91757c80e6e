// A run of a file of a recorded case, which is a test; and all cases.

#pragma once

#include "tests/this_build.h"
#include "tool/check/recorded_case.h"

#include "absl/strings/str_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <vector>

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

/// The cases of tests/data/models and of the folders in GRADUS_MODELS, with
/// ':' between them, but for those of full size.
inline std::vector<std::filesystem::path> smallCases() {
  std::vector<std::string> roots = {GRADUS_SOURCE_DIR "/tests/data/models"};
  if (const char *more = std::getenv("GRADUS_MODELS"))
    for (absl::string_view root : absl::StrSplit(more, ':', absl::SkipEmpty()))
      roots.emplace_back(root);
  std::vector<std::filesystem::path> cases;
  std::set<std::string> names; // a case may be in several folders
  for (const std::string &root : roots)
    for (const std::filesystem::path &folder : findCases(root))
      if (!std::filesystem::exists(folder / "init.json") && // full size
          names.insert(folder.filename()).second)
        cases.push_back(folder);
  return cases;
}

} // namespace gradus::check
