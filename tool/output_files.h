// Checks that no command overwrites a file that it reads, or finds out only
// after its work that it cannot write.

#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace gradus::cli {

/// A file of the command line, with its role.
struct UsedFile {
  std::string role; // "--checkpoint", "the model"
  std::string path; // empty: not given
};

/// Throws a Failure if another file has the name under which an output is
/// written first.
void checkPartialNames(const std::vector<UsedFile> &outputs,
                       const std::vector<UsedFile> &others);

/// Throws a Failure if an output, or the partial file of an output, is the same
/// as an input or as another output, under whatever name or link.
void checkOutputFiles(const std::vector<UsedFile> &outputs,
                      const std::vector<UsedFile> &inputs);

/// Throws a Failure if one of the files with a name cannot be written. Nothing
/// is left of the attempt.
void checkWritable(std::initializer_list<std::string> paths);

/// Throws a Failure unless the name given to --report ends in .html or .json.
void checkReportName(const std::string &path);

/// Writes a file completely or not at all.
void writeWhole(const std::string &path, std::span<const char> bytes);

/// The files of --data, --eval or --inputs.
std::vector<UsedFile> dataFiles(const std::string &role,
                                const std::vector<std::string> &arguments);

} // namespace gradus::cli
