// Sizes and names of element types.

#include "runtime/tensor_type.h"

#include "runtime/status.h"

namespace gradus::runtime {

size_t bytesOf(DType dtype) {
  switch (dtype) {
  case DType::f64:
  case DType::i64:
  case DType::u64:
    return 8;
  case DType::f32:
  case DType::i32:
  case DType::u32:
    return 4;
  case DType::f16:
  case DType::bf16:
  case DType::i16:
  case DType::u16:
    return 2;
  case DType::i8:
  case DType::u8:
  case DType::boolean:
    return 1;
  }
  return 0;
}

std::optional<size_t> bytesOf(const TensorType &type) {
  constexpr int64_t kMost = int64_t{1} << 62;
  int64_t bytes = static_cast<int64_t>(bytesOf(type.dtype));
  for (int64_t size : type.shape)
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes) ||
        bytes > kMost)
      return std::nullopt;
  return static_cast<size_t>(bytes);
}

const char *nameOf(DType dtype) {
  static constexpr const char *kNames[] = {"f32", "f64", "f16", "bf16", "i8",
                                           "u8",  "i32", "i64", "bool", "i16",
                                           "u16", "u32", "u64"};
  auto number = static_cast<size_t>(dtype);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

std::string toString(const TensorType &type) {
  std::string text;
  for (int64_t size : type.shape)
    append(text, size, "x");
  return text + nameOf(type.dtype);
}

} // namespace gradus::runtime
