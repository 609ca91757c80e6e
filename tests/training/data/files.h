// Small files for the tests of data sets, in a folder that vanishes.
#pragma once

#include "training/data/dataset.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace gradus::data {

class Folder {
public:
  Folder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "gradus.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  /// Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path(name);
  }
  std::string path(const std::string &name) const {
    return (path_ / name).string();
  }

private:
  std::filesystem::path path_;
};

template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

template <typename T> std::vector<T> valuesOf(std::span<const uint8_t> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// A .npy file as numpy.save writes it.
inline std::string npyFile(const std::string &descr, const std::string &shape,
                           const std::string &data) {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(117 - header.size(), ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) + '\0' +
         header + data;
}

/// A .npy file of numbers, i64, one a sample.
inline std::string numbersFile(const std::vector<int64_t> &numbers) {
  return npyFile("<i8", std::to_string(numbers.size()) + ",", bytesOf(numbers));
}

inline std::string wordsOf(const runtime::Status &status) {
  return std::string(status.message());
}

} // namespace gradus::data
