// Loops over elements, one for each type and reduction.
//
// The sum of two f16 or bf16 is made in f32, which is exact enough that its
// rounding is the right one. A NaN is always the same NaN: that of the hardware
// would depend on the order of operands, which is the compiler's choice.

#include "runtime/collectives/combine.h"

#include <bit>
#include <limits>
#include <type_traits>

// Tells the compiler that elements do not depend on each other: the result may
// be one of the operands, and never a shifted one. With sanitizers it makes no
// vectors of them, and would warn of that.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#define GRADUS_EACH_ALONE _Pragma("clang loop vectorize(assume_safety)")
#else
#define GRADUS_EACH_ALONE _Pragma("GCC ivdep")
#endif

namespace gradus::runtime {

namespace {

//===-- formats: how an element is read and written -----------------------===//

template <typename Number> struct Plain {
  using Stored = Number;
  static Number read(Stored stored) { return stored; }
  static Stored write(Number number) {
    if constexpr (std::is_floating_point_v<Number>)
      return number == number ? number
                              : std::numeric_limits<Number>::quiet_NaN();
    else
      return number;
  }
};

struct Bf16Format {
  using Stored = uint16_t;
  static float read(Stored stored) {
    return std::bit_cast<float>(uint32_t(stored) << 16);
  }
  static Stored write(float number) {
    auto bits = std::bit_cast<uint32_t>(number);
    auto rounded =
        static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    return number == number ? rounded : uint16_t{0x7fc0};
  }
};

struct F16Format {
  using Stored = _Float16;
  static float read(Stored stored) { return static_cast<float>(stored); }
  static Stored write(float number) {
    return number == number ? static_cast<_Float16>(number)
                            : std::bit_cast<_Float16>(uint16_t{0x7e00});
  }
};

//===-- reductions --------------------------------------------------------===//

struct Sum {
  template <typename Number> static Number of(Number lower, Number upper) {
    if constexpr (std::is_integral_v<Number>) {
      using Wrapping = std::make_unsigned_t<Number>;
      return static_cast<Number>(static_cast<Wrapping>(
          static_cast<Wrapping>(lower) + static_cast<Wrapping>(upper)));
    } else {
      return lower + upper;
    }
  }
};

/// Returns the upper number if it is better or NaN.
struct Minimum {
  template <typename Number> static Number of(Number lower, Number upper) {
    return upper < lower || upper != upper ? upper : lower;
  }
};
struct Maximum {
  template <typename Number> static Number of(Number lower, Number upper) {
    return upper > lower || upper != upper ? upper : lower;
  }
};

template <typename Format, typename Reduce>
[[gnu::always_inline]] inline void
combineEach(const void *lower, const void *upper, void *result, size_t count) {
  using Stored = typename Format::Stored;
  const auto *low = static_cast<const Stored *>(lower);
  const auto *high = static_cast<const Stored *>(upper);
  auto *out = static_cast<Stored *>(result);
  GRADUS_EACH_ALONE
  for (size_t i = 0; i < count; ++i)
    out[i] =
        Format::write(Reduce::of(Format::read(low[i]), Format::read(high[i])));
}

/// The same by wider vectors and by the instructions that convert f16, which
/// are a call for each element without.
template <typename Format, typename Reduce>
__attribute__((target("avx2,f16c"))) void
combineWide(const void *lower, const void *upper, void *result, size_t count) {
  combineEach<Format, Reduce>(lower, upper, result, count);
}

template <typename Format, typename Reduce>
void loop(const void *lower, const void *upper, void *result, size_t count) {
  static const bool isWide =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  if (isWide)
    combineWide<Format, Reduce>(lower, upper, result, count);
  else
    combineEach<Format, Reduce>(lower, upper, result, count);
}

template <typename Reduce>
void combineBy(DType type, const void *lower, const void *upper, void *result,
               size_t count) {
  switch (type) {
  case DType::f32:
    return loop<Plain<float>, Reduce>(lower, upper, result, count);
  case DType::f64:
    return loop<Plain<double>, Reduce>(lower, upper, result, count);
  case DType::f16:
    return loop<F16Format, Reduce>(lower, upper, result, count);
  case DType::bf16:
    return loop<Bf16Format, Reduce>(lower, upper, result, count);
  case DType::i8:
    return loop<Plain<int8_t>, Reduce>(lower, upper, result, count);
  case DType::u8:
  case DType::boolean:
    return loop<Plain<uint8_t>, Reduce>(lower, upper, result, count);
  case DType::i16:
    return loop<Plain<int16_t>, Reduce>(lower, upper, result, count);
  case DType::u16:
    return loop<Plain<uint16_t>, Reduce>(lower, upper, result, count);
  case DType::i32:
    return loop<Plain<int32_t>, Reduce>(lower, upper, result, count);
  case DType::u32:
    return loop<Plain<uint32_t>, Reduce>(lower, upper, result, count);
  case DType::i64:
    return loop<Plain<int64_t>, Reduce>(lower, upper, result, count);
  case DType::u64:
    return loop<Plain<uint64_t>, Reduce>(lower, upper, result, count);
  }
}

} // namespace

void combine(Reduction reduction, DType type, const void *lower,
             const void *upper, void *result, size_t count) {
  switch (reduction) {
  case Reduction::sum:
    return combineBy<Sum>(type, lower, upper, result, count);
  case Reduction::minimum:
    return combineBy<Minimum>(type, lower, upper, result, count);
  case Reduction::maximum:
    return combineBy<Maximum>(type, lower, upper, result, count);
  }
}

void combineAll(Reduction reduction, DType type, std::span<uint8_t *> values,
                void *result, size_t count) {
  for (size_t step = 1; step < values.size(); step *= 2)
    for (size_t i = 0; i + step < values.size(); i += 2 * step) {
      bool isLast = 2 * step >= values.size();
      void *sum = isLast ? result : values[i];
      combine(reduction, type, values[i], values[i + step], sum, count);
    }
}

} // namespace gradus::runtime
