// Whether a function of ours is called as one of a vendor's header.
#pragma once

#include <cstddef>
#include <type_traits>

/// What of a type a call passes: pointers are alike, and numbers of a size.
template <typename T> struct PassedAs {
  using Type = std::integral_constant<size_t, sizeof(T)>;
};
template <typename T> struct PassedAs<T *> {
  using Type = void *;
};
template <> struct PassedAs<void> {
  using Type = void;
};
template <typename T> using Passed = typename PassedAs<T>::Type;

template <typename Function> struct Signature;
template <typename R, typename... Parameters>
struct Signature<R (*)(Parameters...)> {
  using Type = Passed<R> (*)(Passed<Parameters>...);
};

template <typename Ours, typename Theirs>
constexpr bool kSameSignature =
    std::is_same_v<typename Signature<Ours>::Type,
                   typename Signature<Theirs>::Type>;
