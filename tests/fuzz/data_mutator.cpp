// How libFuzzer changes data files: anything behind the letter of the format.
// Checks that every change would fail are made to fit again: the sums of PNG's
// parts, and the length that a .safetensors file begins with.

#include "target.h"

#include <algorithm>
#include <cstring>
#include <zlib.h>

using gradus::fuzz::Bytes;

extern "C" size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);

namespace {

uint32_t bigEndian(const uint8_t *at) {
  return uint32_t(at[0]) << 24 | uint32_t(at[1]) << 16 | uint32_t(at[2]) << 8 |
         at[3];
}

/// Parts of a PNG file: length, kind, that many bytes, their sum.
void fitPngSums(Bytes &file) {
  constexpr size_t kSignature = 8, kAround = 12;
  for (size_t at = 1 + kSignature; at + kAround <= file.size();) {
    size_t length = bigEndian(&file[at]);
    if (length > file.size() - at - kAround)
      return;
    auto sum = static_cast<uint32_t>(
        crc32(0, &file[at + 4], static_cast<uInt>(length + 4)));
    for (size_t i = 0; i < 4; ++i)
      file[at + 8 + length + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
    at += kAround + length;
  }
}

/// The header of a .safetensors file ends with the last brace.
void fitHeaderLength(Bytes &file) {
  constexpr size_t kLength = 8;
  auto brace = std::find(file.rbegin(), file.rend(), '}');
  auto end = static_cast<uint64_t>(file.rend() - brace);
  if (end <= 1 + kLength)
    return;
  uint64_t length = end - 1 - kLength;
  std::memcpy(&file[1], &length, sizeof(length));
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size,
                                          size_t most, unsigned seed) {
  if (size < 2 || seed % 64 == 0)
    return LLVMFuzzerMutate(bytes, size, most);
  Bytes file(bytes, bytes + size);
  file.resize(most);
  file.resize(1 + LLVMFuzzerMutate(file.data() + 1, size - 1, most - 1));
  if (file[0] == 'p' && seed % 4)
    fitPngSums(file);
  if (file[0] == 's' && seed % 4)
    fitHeaderLength(file);
  std::memcpy(bytes, file.data(), file.size());
  return file.size();
}
