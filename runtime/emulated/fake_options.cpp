// Options are words of the form KEY=NUMBER.

#include "runtime/emulated/fake_options.h"

#include <charconv>
#include <sstream>

namespace gradus::runtime::cuda {

static Status readOption(const std::string &word, FakeOptions &options) {
  size_t split = word.find('=');
  std::string key = word.substr(0, split);
  int64_t number = -1;
  const char *end = word.data() + word.size();
  bool isNumber =
      split != std::string::npos &&
      std::from_chars(word.data() + split + 1, end, number).ptr == end;
  if (!isNumber || number < 0)
    return invalid("'", word, "' is not KEY=NUMBER");
  if (key == "memory")
    options.memoryBytes = size_t(number);
  else if (key == "seed")
    options.seed = unsigned(number);
  else if (key == "lost-at")
    options.lostAt = number;
  else if (key == "out-of-memory-at")
    options.outOfMemoryAt = number;
  else if (key == "slow-library")
    options.slowLibrary = number != 0;
  else if (key == "no-epilogues") {
    constexpr int64_t kKnown = 2 | 4 | 32 | 64 | 128 | 256 | 512;
    if (number & ~kKnown)
      return invalid("'", word,
                     "' has bits that are no epilogue; those of 2, "
                     "4, 32, 64, 128, 256 and 512 are");
    options.lackedEpilogues = uint32_t(number);
  } else if (key == "operations")
    options.countsOperations = number != 0;
  else
    return invalid("'", key,
                   "' is not one of memory, seed, lost-at, out-of-memory-at, "
                   "slow-library, no-epilogues, operations");
  return Status();
}

StatusOr<FakeOptions> readFakeOptions(std::string_view text) {
  FakeOptions options;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;)
    GRADUS_TRY(readOption(word, options));
  return options;
}

} // namespace gradus::runtime::cuda
