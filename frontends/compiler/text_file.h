// Small text files that a user names. It needs the standard library alone: the
// tool includes it, too.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace gradus::compiler {

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
