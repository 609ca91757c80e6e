// Reads streams of tokens as written by nanoGPT (data/*/prepare.py: only u16)
// and llm.c (dev/data/data_common.py: a header of 256 i32).

#include "training/data/formats.h"

#include "runtime/status.h"

#include <cstring>

using namespace gradus::runtime;

namespace gradus::data {
namespace {

constexpr size_t kHeaderBytes = 256 * 4;

/// A kind of llm.c's headers.
struct HeaderKind {
  int32_t magic, version;
  DType tokens;
};

constexpr HeaderKind kHeaders[] = {{20240520, 1, DType::u16},  // GPT-2
                                   {20240801, 7, DType::u32}}; // Llama 3

int32_t wordAt(std::span<const uint8_t> bytes, size_t word) {
  int32_t value;
  std::memcpy(&value, bytes.data() + 4 * word, sizeof(value));
  return value;
}

const HeaderKind *kindOf(std::span<const uint8_t> bytes) {
  for (const HeaderKind &kind : kHeaders)
    if (bytes.size() >= kHeaderBytes && wordAt(bytes, 0) == kind.magic)
      return &kind;
  return nullptr;
}

runtime::StatusOr<Column> stream(const FileBytes &file, const std::string &name,
                                 DType dtype, size_t start) {
  std::span<const uint8_t> bytes = file.bytes.subspan(start);
  size_t size = runtime::bytesOf(dtype);
  if (bytes.empty() || bytes.size() % size)
    return invalid("is no file of tokens: ", bytes.size(),
                   " bytes are not one or more ", nameOf(dtype));
  return Column{name,
                {dtype, {static_cast<int64_t>(bytes.size() / size)}},
                bytes,
                file.owner,
                Meaning::tokens};
}

} // namespace

bool hasTokenHeader(std::span<const uint8_t> bytes) {
  return kindOf(bytes) != nullptr;
}

runtime::StatusOr<Column> readTokens(const FileBytes &file,
                                     const std::string &name, bool wide) {
  const HeaderKind *kind = kindOf(file.bytes);
  if (!kind)
    return stream(file, name, wide ? DType::u32 : DType::u16, 0);
  if (wordAt(file.bytes, 1) != kind->version)
    return invalid("has the version ", wordAt(file.bytes, 1),
                   " of llm.c's token files, expected ", kind->version);
  GRADUS_ASSIGN(Column column, stream(file, name, kind->tokens, kHeaderBytes));
  if (column.type.shape[0] != wordAt(file.bytes, 2))
    return invalid("has ", column.type.shape[0],
                   " tokens, but its header says ", wordAt(file.bytes, 2));
  return column;
}

} // namespace gradus::data
