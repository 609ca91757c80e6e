// How libFuzzer forges artifacts: by its own changes or by those of the tests,
// after which machine code is back in its place and the hashes fit.

#include "target.h"

#include "runtime/artifact/artifact.h"
#include "tests/runtime/mutations.h"

#include <algorithm>
#include <cstring>

using namespace gradus;

extern "C" size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size,
                                          size_t most, unsigned seed) {
  const fuzz::Bytes whole(bytes, bytes + size);
  fuzz::Bytes file = whole;
  if (seed % 2) {
    test::damage(file, seed);
  } else {
    file.resize(most);
    file.resize(LLVMFuzzerMutate(file.data(), size, most));
  }
  file.resize(std::min(file.size(), most));
  if (runtime::Artifact::fromBytes(whole, "whole").ok())
    test::forge(file, whole);
  std::memcpy(bytes, file.data(), file.size());
  return file.size();
}
