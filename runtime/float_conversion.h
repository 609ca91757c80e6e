// Conversion between floating-point types, rounded to nearest, ties to even.
// Weights of other tools are f16, bf16 or f64.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace gradus::runtime {

/// A bf16 as it is stored in memory.
struct Bf16 {
  uint16_t bits = 0;

  Bf16() = default;
  /// Converts through f32; NaN stays NaN.
  explicit Bf16(double value) {
    float near = static_cast<float>(value);
    auto whole = std::bit_cast<uint32_t>(near);
    bits =
        near != near
            ? static_cast<uint16_t>(whole >> 16 | 0x40)
            : static_cast<uint16_t>((whole + 0x7fff + (whole >> 16 & 1)) >> 16);
  }
  explicit operator double() const {
    return std::bit_cast<float>(uint32_t(bits) << 16);
  }
};

/// Calls `visit` with a number of the named type; false if it is not a
/// floating-point type.
template <typename Visit>
bool visitFloat(std::string_view name, const Visit &visit) {
  if (name == "f32")
    return visit(float());
  if (name == "f64")
    return visit(double());
  if (name == "f16")
    return visit(static_cast<_Float16>(0));
  return name == "bf16" && visit(Bf16());
}

/// Converts `count` numbers of type `from` ("f16") to type `to`; the pointers
/// need no alignment. False, and nothing done, if one of the types is none of
/// f16, bf16, f32 and f64.
inline bool convertFloats(std::string_view from, std::string_view to,
                          const void *source, void *target, size_t count) {
  return visitFloat(from, [&](auto in) {
    return visitFloat(to, [&](auto out) {
      using In = decltype(in);
      using Out = decltype(out);
      for (size_t i = 0; i < count; ++i) {
        std::memcpy(&in, static_cast<const char *>(source) + i * sizeof(In),
                    sizeof(In));
        out = static_cast<Out>(static_cast<double>(in));
        std::memcpy(static_cast<char *>(target) + i * sizeof(Out), &out,
                    sizeof(Out));
      }
      return true;
    });
  });
}

/// Whether numbers of one type can be converted to the other.
inline bool areFloats(std::string_view one, std::string_view other) {
  return convertFloats(one, other, nullptr, nullptr, 0);
}

} // namespace gradus::runtime
