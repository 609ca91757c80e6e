// Two names are one file if the system says so or, for files that do not exist
// yet, if they lead to the same name in one folder.

#include "tool/output_files.h"

#include "runtime/file.h"
#include "tool/failure.h"
#include "training/data/dataset.h"

#include "absl/strings/match.h"

#include <filesystem>

namespace gradus::cli {

static bool isSameFile(const std::string &one, const std::string &other) {
  std::error_code none;
  if (std::filesystem::equivalent(one, other, none) && !none)
    return true;
  auto place = [&](const std::string &path) {
    return std::filesystem::weakly_canonical(
        std::filesystem::absolute(path, none), none);
  };
  return place(one) == place(other);
}

static void checkApart(const UsedFile &output, const UsedFile &other) {
  if (!output.path.empty() && !other.path.empty() &&
      isSameFile(output.path, other.path))
    throw badInput(output.role, " ", output.path, ": is the same file as ",
                   other.role, " ", other.path, "; write to another one");
}

void checkPartialNames(const std::vector<UsedFile> &outputs,
                       const std::vector<UsedFile> &others) {
  for (const UsedFile &output : outputs)
    for (const UsedFile &other : others)
      if (!output.path.empty() && !other.path.empty() &&
          isSameFile(runtime::partialNameOf(output.path), other.path))
        throw badInput(other.role, " ", other.path,
                       ": has the name under which ", output.role, " ",
                       output.path,
                       " is made before it is whole; give it another one");
}

void checkOutputFiles(const std::vector<UsedFile> &outputs,
                      const std::vector<UsedFile> &inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const UsedFile &input : inputs)
      checkApart(outputs[i], input);
    for (size_t before = 0; before < i; ++before)
      checkApart(outputs[i], outputs[before]);
  }
  checkPartialNames(outputs, inputs);
  checkPartialNames(outputs, outputs);
}

void checkWritable(std::initializer_list<std::string> paths) {
  for (const std::string &path : paths)
    if (!path.empty())
      take(runtime::AtomicFile::create(path)); // Not committed: removed.
}

void checkReportName(const std::string &path) {
  if (!absl::EndsWith(path, ".html") && !absl::EndsWith(path, ".json"))
    throw badInput("--report ", path,
                   ": expected a name that ends in .html, for a page, or in "
                   ".json, for its data alone");
}

void writeWhole(const std::string &path, std::span<const char> bytes) {
  runtime::AtomicFile file = take(runtime::AtomicFile::create(path));
  check(file.write(bytes.data(), bytes.size()));
  check(file.commit());
}

std::vector<UsedFile> dataFiles(const std::string &role,
                                const std::vector<std::string> &arguments) {
  std::vector<UsedFile> files;
  for (const std::string &argument : arguments)
    files.push_back({role, data::Dataset::pathOf(argument)});
  return files;
}

} // namespace gradus::cli
