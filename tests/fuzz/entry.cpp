// A target as libFuzzer calls it.

#include "target.h"

#include <cstdio>
#include <cstdlib>

using namespace gradus;

extern "C" int LLVMFuzzerInitialize(int *count, char ***arguments) {
  std::vector<std::string> paths;
  for (int i = 1; i < *count; ++i)
    if (std::string argument = (*arguments)[i]; !argument.starts_with('-'))
      paths.push_back(argument);
  fuzz::prepare(paths);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  fuzz::Outcome outcome = fuzz::tryInput({bytes, size});
  if (outcome.kind == fuzz::Outcome::refused && outcome.words.empty()) {
    std::fprintf(stderr, "an input was refused without words\n");
    std::abort();
  }
  return outcome.kind == fuzz::Outcome::skipped ? -1 : 0;
}
