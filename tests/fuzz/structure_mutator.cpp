// Changes by structure, with parts of other inputs, and now and then by bytes.

#include "structure_mutator.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace gradus;

extern "C" size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);

namespace {

std::string textOf(const uint8_t *bytes, size_t size) {
  return {reinterpret_cast<const char *>(bytes), size};
}

size_t put(const std::string &input, uint8_t *to, size_t most) {
  size_t size = std::min(input.size(), most);
  std::memcpy(to, input.data(), size);
  return size;
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size,
                                          size_t most, unsigned seed) {
  if (seed % 8 == 0)
    return LLVMFuzzerMutate(bytes, size, most);
  return put(fuzz::edited(textOf(bytes, size), seed), bytes, most);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t size,
                                            const uint8_t *second,
                                            size_t secondSize, uint8_t *to,
                                            size_t most, unsigned seed) {
  return put(
      fuzz::grafted(textOf(first, size), textOf(second, secondSize), seed), to,
      most);
}
