// Memory that begins on small pages, as where the system has no huge ones.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/mman.h>

namespace gradus::test {

/// Writes to every byte while the memory may have no huge page.
inline void fillSmallPages(uint8_t *data, size_t size, uint8_t value) {
  ASSERT_EQ(madvise(data, size, MADV_NOHUGEPAGE), 0);
  std::memset(data, value, size);
  ASSERT_EQ(madvise(data, size, MADV_HUGEPAGE), 0);
}

/// The KiB of huge pages in the mapping that begins at `data`.
inline long hugeKibibytes(const uint8_t *data) {
  std::ifstream file("/proc/self/smaps");
  bool isHere = false;
  for (std::string line; std::getline(file, line);) {
    size_t dash = line.find('-');
    bool isHead = dash != std::string::npos && dash < line.find(' ');
    if (isHead)
      isHere =
          std::stoull(line, nullptr, 16) == reinterpret_cast<uintptr_t>(data);
    else if (isHere && line.rfind("AnonHugePages:", 0) == 0)
      return std::stol(line.substr(line.find(':') + 1));
  }
  return -1;
}

/// Whether `check` holds in one of five tries. The system gathers advised
/// memory on its own, too, a few MiB at a time and whenever it likes: what
/// only Gradus may change stays as it was in most tries, not in all.
template <typename Check> bool holdsOnce(Check check) {
  for (int i = 0; i < 5; ++i)
    if (check())
      return true;
  return false;
}

} // namespace gradus::test
