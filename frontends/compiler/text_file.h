// Small text files that a user names. It needs the standard library alone: the
// tool includes it, too.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace gradus::compiler {

/// Whether something is there that is no file: a folder, or a device or a pipe,
/// of which reading need not end. What a program compiles from is none of them;
/// on a command line a pipe may be given where it has a writer.
inline bool isNoFile(const std::string &path) {
  std::error_code none;
  auto found = std::filesystem::status(path, none);
  return std::filesystem::exists(found) &&
         !std::filesystem::is_regular_file(found);
}

/// The whole text of a file; nothing if it cannot be read. Folders and devices,
/// which may be endless, are not read.
inline std::optional<std::string> textOfFile(const std::string &path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none) || // Reading one would throw.
      std::filesystem::is_character_file(path, none))
    return std::nullopt;
  std::ifstream file(path);
  if (!file)
    return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

} // namespace gradus::compiler
