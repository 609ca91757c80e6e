// An image consists of 64-bit words: magic, total bytes, their complement, a
// hash of the rest; the number of functions, then for each of them four numbers
// and the bytes of its name; the bytes of the code. Names and code are padded
// to words.

#include "runtime/emulated/emulated_image.h"

#include "runtime/artifact_hash.h"

#include <cstring>

namespace gradus::runtime::cuda {

namespace {

constexpr char kMagic[8] = {'G', 'R', 'D', 'S', 'E', 'M', 'U', '1'};
constexpr size_t kHeader = 32;

struct Writer {
  std::vector<uint8_t> bytes;

  void word(uint64_t value) { raw(&value, sizeof(value)); }
  void raw(const void *data, size_t size) {
    const auto *from = static_cast<const uint8_t *>(data);
    bytes.insert(bytes.end(), from, from + size);
    bytes.resize((bytes.size() + 7) / 8 * 8);
  }
};

struct Reader {
  const uint8_t *at;
  uint64_t left;
  bool failed = false;

  uint64_t word() {
    uint64_t value = 0;
    if (const uint8_t *from = raw(sizeof(value)))
      std::memcpy(&value, from, sizeof(value));
    return value;
  }
  const uint8_t *raw(uint64_t size) {
    uint64_t padded = size + (8 - size % 8) % 8;
    if (failed || padded < size || padded > left) {
      failed = true;
      return nullptr;
    }
    const uint8_t *from = at;
    at += padded;
    left -= padded;
    return from;
  }
};

EmulatedFunction readFunction(Reader &reader) {
  EmulatedFunction function;
  function.entry = reader.word();
  function.shared = reader.word();
  function.threads = reader.word();
  function.arguments = reader.word();
  uint64_t size = reader.word();
  if (const uint8_t *name = reader.raw(size))
    function.name.assign(reinterpret_cast<const char *>(name), size);
  return function;
}

} // namespace

std::vector<uint8_t> packImage(std::span<const EmulatedFunction> functions,
                               std::span<const uint8_t> code) {
  Writer writer;
  writer.bytes.resize(kHeader);
  writer.word(functions.size());
  for (const EmulatedFunction &function : functions) {
    for (uint64_t number : {function.entry, function.shared, function.threads,
                            function.arguments, function.name.size()})
      writer.word(number);
    writer.raw(function.name.data(), function.name.size());
  }
  writer.word(code.size());
  writer.raw(code.data(), code.size());
  uint64_t size = writer.bytes.size();
  uint64_t header[4] = {
      0, size, ~size,
      artifact::hashBytes(writer.bytes.data() + kHeader, size - kHeader)};
  std::memcpy(header, kMagic, sizeof(kMagic));
  std::memcpy(writer.bytes.data(), header, kHeader);
  return std::move(writer.bytes);
}

bool isEmulatedImage(const void *image) {
  return std::memcmp(image, kMagic, sizeof(kMagic)) == 0;
}

StatusOr<EmulatedImage> readImage(const void *image) {
  uint64_t header[4];
  std::memcpy(header, image, kHeader);
  const auto *body = static_cast<const uint8_t *>(image) + kHeader;
  if (!isEmulatedImage(image) || header[1] != ~header[2] ||
      header[1] < kHeader ||
      header[3] != artifact::hashBytes(body, header[1] - kHeader))
    return invalid("the emulated image is corrupted");
  Reader reader{body, header[1] - kHeader};
  EmulatedImage read;
  uint64_t count = reader.word();
  for (uint64_t i = 0; i < count && !reader.failed; ++i)
    read.functions.push_back(readFunction(reader));
  uint64_t size = reader.word();
  if (const uint8_t *code = reader.raw(size))
    read.code = {code, size};
  for (const EmulatedFunction &function : read.functions)
    reader.failed |= function.entry >= read.code.size();
  if (reader.failed)
    return invalid("the emulated image is forged");
  return read;
}

} // namespace gradus::runtime::cuda
