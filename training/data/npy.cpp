// .npy: NumPy's array files.
//
// Format:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html A
// magic, a header that is a Python dictionary of fixed keys, then the data.

#include "training/data/formats.h"

#include "runtime/status.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <optional>

using namespace gradus::runtime;

namespace gradus::data {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);

struct Name {
  absl::string_view descr;
  DType dtype;
};

constexpr Name kNames[] = {
    {"<f4", DType::f32}, {"<f8", DType::f64},     {"<f2", DType::f16},
    {"|i1", DType::i8},  {"|u1", DType::u8},      {"<i4", DType::i32},
    {"<i8", DType::i64}, {"|b1", DType::boolean}, {"<i2", DType::i16},
    {"<u2", DType::u16}, {"<u4", DType::u32},     {"<u8", DType::u64}};

/// Returns the text after a key: for `'shape': (3, 4), }` the text after the
/// colon.
runtime::StatusOr<absl::string_view> valueOf(absl::string_view header,
                                             absl::string_view key) {
  size_t at = header.find(absl::StrCat("'", key, "':"));
  if (at == absl::string_view::npos)
    return invalid("the .npy header has no '", key, "'");
  return absl::StripLeadingAsciiWhitespace(header.substr(at + key.size() + 3));
}

runtime::StatusOr<DType> dtypeOf(absl::string_view header) {
  GRADUS_ASSIGN(absl::string_view text, valueOf(header, "descr"));
  for (const Name &name : kNames)
    if (text.size() > 4 && text.substr(1, 3) == name.descr)
      return name.dtype;
  return invalid(
      "the .npy type ", text.substr(0, text.find(',')),
      " is not supported: expected little-endian f2, f4, f8, i1, i2, "
      "i4, i8, u1, u2, u4, u8 or b1");
}

runtime::StatusOr<std::vector<int64_t>> shapeOf(absl::string_view header) {
  GRADUS_ASSIGN(absl::string_view text, valueOf(header, "shape"));
  size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == absl::string_view::npos)
    return invalid("the .npy header has no shape in parentheses");
  std::vector<int64_t> shape;
  for (absl::string_view part :
       absl::StrSplit(text.substr(1, end - 1), ',', absl::SkipWhitespace())) {
    int64_t size;
    if (!absl::SimpleAtoi(part, &size) || size < 0)
      return invalid("the .npy shape has the size '", part, "'");
    shape.push_back(size);
  }
  return shape;
}

/// Returns the header's text and the offset of the data.
runtime::StatusOr<std::pair<absl::string_view, size_t>>
splitHeader(std::span<const uint8_t> bytes) {
  absl::string_view text(reinterpret_cast<const char *>(bytes.data()),
                         bytes.size());
  if (text.size() < 12 || text.substr(0, 6) != kMagic)
    return invalid("is not a .npy file");
  if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
    return invalid("is of version ", int(bytes[6]), ".", int(bytes[7]),
                   " of the .npy format; expected 1.0, 2.0 or 3.0");
  size_t start = bytes[6] == 1 ? 10 : 12;
  size_t size = bytes[8] | bytes[9] << 8;
  if (start == 12)
    size |= size_t(bytes[10]) << 16 | size_t(bytes[11]) << 24;
  if (size > text.size() - start)
    return invalid("the .npy header is cut off");
  return std::pair(text.substr(start, size), start + size);
}

/// The type in a header and the offset of the data.
struct Array {
  TensorType type;
  size_t start = 0;
};

/// Reads the header at the beginning of a file of `all` bytes; checks that the
/// array has that size.
runtime::StatusOr<Array> readArray(std::span<const uint8_t> beginning,
                                   size_t all, const std::string &name) {
  GRADUS_ASSIGN(auto split, splitHeader(beginning));
  auto [header, start] = split;
  Array array{{}, start};
  GRADUS_ASSIGN(array.type.dtype, dtypeOf(header));
  GRADUS_ASSIGN(array.type.shape, shapeOf(header));
  GRADUS_ASSIGN(absl::string_view order, valueOf(header, "fortran_order"));
  if (order.substr(0, 5) != "False" && array.type.shape.size() > 1)
    return invalid("array '", name,
                   "' is in Fortran order; save it with "
                   "numpy.ascontiguousarray");
  std::optional<size_t> size = bytesOf(array.type);
  if (!size || *size != all - start)
    return invalid("array '", name, "' is ", toString(array.type), " but ",
                   size && *size < all - start ? "" : "only ", all - start,
                   " bytes follow");
  return array;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "(";
  for (int64_t size : shape)
    absl::StrAppend(&text, size, ",");
  return text + ")";
}

} // namespace

runtime::StatusOr<Column> readNpy(const FileBytes &file,
                                  const std::string &name) {
  GRADUS_ASSIGN(Array array, readArray(file.bytes, file.bytes.size(), name));
  Column column;
  column.name = name;
  column.type = array.type;
  column.bytes = file.bytes.subspan(array.start);
  column.owner = file.owner;
  return column;
}

runtime::Status checkNpySize(std::span<const uint8_t> beginning, size_t all,
                             const std::string &name) {
  return readArray(beginning, all, name).status();
}

std::string writeNpy(const TensorType &type, std::span<const uint8_t> bytes) {
  absl::string_view descr = "|V2"; // bf16, for which NumPy has no name
  for (const Name &name : kNames)
    if (name.dtype == type.dtype)
      descr = name.descr;
  std::string header = absl::StrCat(
      "{'descr': '", descr,
      "', 'fortran_order': False, 'shape': ", shapeText(type.shape), ", }");
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ');
  header += '\n';
  std::string file(kMagic);
  file += {1, 0, char(header.size() & 255), char(header.size() >> 8)};
  file += header;
  return file.append(reinterpret_cast<const char *>(bytes.data()),
                     bytes.size());
}

} // namespace gradus::data
