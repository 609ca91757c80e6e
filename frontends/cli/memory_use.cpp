// Reads /proc/self/status.

#include "frontends/cli/memory_use.h"

#include <fstream>
#include <string>

namespace gradus::cli {

uint64_t anonymousBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "RssAnon:") {
      uint64_t kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024;
    }
  return 0;
}

} // namespace gradus::cli
