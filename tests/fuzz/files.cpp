// The files that targets read and write.

#include "target.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace gradus::fuzz {
namespace {

namespace fs = std::filesystem;

/// Goes when the process ends by itself; a crash leaves it for a look.
struct OwnFolder {
  OwnFolder() {
    std::error_code none;
    fs::path parent = fs::is_directory("/dev/shm", none)
                          ? fs::path("/dev/shm")
                          : fs::temp_directory_path();
    path = parent / ("gradus_fuzz." + std::to_string(getpid()));
    fs::create_directories(path);
  }
  ~OwnFolder() {
    std::error_code none;
    fs::remove_all(path, none);
  }
  std::string path;
};

} // namespace

const std::string &ownFolder() {
  static const OwnFolder folder;
  return folder.path;
}

Bytes contentOf(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(stream), {});
}

std::vector<std::string> filesAt(const std::vector<std::string> &paths) {
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto &each : fs::directory_iterator(path))
      if (each.is_regular_file())
        files.push_back(each.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace gradus::fuzz
