// Whether a function of ours is called as one of a vendor's header.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

/// What of a type a call passes: pointers are alike, and numbers of a size.
template <typename T>
using Passed = std::conditional_t<
    std::is_pointer_v<T>, void *,
    std::integral_constant<size_t, std::is_void_v<T> ? 0 : sizeof(T)>>;

template <typename Function> struct Signature;
template <typename R, typename... Parameters>
struct Signature<R (*)(Parameters...)> {
  using Type = std::tuple<Passed<R>, Passed<Parameters>...>;
};

template <typename Ours, typename Theirs>
constexpr bool kSameSignature =
    std::is_same_v<typename Signature<Ours>::Type,
                   typename Signature<Theirs>::Type>;
