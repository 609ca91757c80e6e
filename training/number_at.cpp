// Uses memcpy, since scalars of a step may be unaligned.

#include "training/number_at.h"

#include "runtime/float_conversion.h"

#include <cmath>
#include <cstring>

using namespace gradus::runtime;

namespace gradus::training {

template <typename Number> static Number load(const void *data, size_t i) {
  Number number;
  std::memcpy(&number, static_cast<const char *>(data) + i * sizeof(Number),
              sizeof(Number));
  return number;
}

double numberAt(DType dtype, const void *data, size_t i) {
  switch (dtype) {
  case DType::f32:
    return load<float>(data, i);
  case DType::f64:
    return load<double>(data, i);
  case DType::f16:
    return static_cast<float>(load<_Float16>(data, i));
  case DType::bf16:
    return static_cast<double>(load<Bf16>(data, i));
  case DType::i8:
    return load<int8_t>(data, i);
  case DType::u8:
    return load<uint8_t>(data, i);
  case DType::i16:
    return load<int16_t>(data, i);
  case DType::u16:
    return load<uint16_t>(data, i);
  case DType::i32:
    return load<int32_t>(data, i);
  case DType::u32:
    return load<uint32_t>(data, i);
  case DType::i64:
    return static_cast<double>(load<int64_t>(data, i));
  case DType::u64:
    return static_cast<double>(load<uint64_t>(data, i));
  case DType::boolean:
    return load<uint8_t>(data, i) != 0;
  }
  return std::nan("");
}

} // namespace gradus::training
