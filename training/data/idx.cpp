// IDX: the format of MNIST (http://yann.lecun.com/exdb/mnist/), also gzipped.
//
// Bytes 0 0 TYPE RANK, then RANK big-endian sizes, then the data, big endian.

#include "training/data/formats.h"

#include "runtime/status.h"

using namespace gradus::runtime;

namespace gradus::data {
namespace {

constexpr uint8_t kU8 = 0x08, kI8 = 0x09;

int64_t bigEndian(const uint8_t *at) {
  return int64_t(at[0]) << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

} // namespace

bool isIdx(std::span<const uint8_t> bytes) {
  return bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 &&
         bytes[2] >= kU8 && bytes[2] <= 0x0e && bytes[3] >= 1 && bytes[3] <= 8;
}

static TensorType typeOf(std::span<const uint8_t> header) {
  TensorType type{header[2] == kI8 ? DType::i8 : DType::u8, {}};
  for (size_t axis = 0; axis < header[3]; ++axis)
    type.shape.push_back(bigEndian(&header[4 + 4 * axis]));
  return type;
}

std::optional<size_t> idxBytes(std::span<const uint8_t> beginning) {
  if (!isIdx(beginning) || beginning.size() < 4 + 4 * size_t(beginning[3]))
    return std::nullopt;
  constexpr size_t kWidest = 8; // bytes of an element
  auto size = bytesOf(typeOf(beginning));
  if (!size)
    return std::nullopt;
  return 4 + 4 * size_t(beginning[3]) + *size * kWidest;
}

runtime::StatusOr<Column> readIdx(const FileBytes &file,
                                  const std::string &name) {
  std::span<const uint8_t> bytes = file.bytes;
  if (!isIdx(bytes))
    return invalid("is not an IDX file");
  if (bytes[2] != kU8 && bytes[2] != kI8)
    return invalid("the IDX type is ", int(bytes[2]),
                   "; expected 8 (u8) or 9 (i8)");
  size_t rank = bytes[3], start = 4 + 4 * rank;
  if (bytes.size() < start)
    return invalid("the IDX header is cut off");
  Column column{name, typeOf(bytes), {}, file.owner};
  std::optional<size_t> size = bytesOf(column.type);
  if (!size || *size != bytes.size() - start)
    return invalid("the IDX header says ", toString(column.type), " but ",
                   bytes.size() - start, " bytes follow");
  column.bytes = bytes.subspan(start);
  if (bytes[2] == kU8 && rank >= 3)
    column.meaning = Meaning::pixels;
  return column;
}

} // namespace gradus::data
