// Errors as values: their kinds, and functions to make them, pass them on and
// add context.
//
// invalid(...) is for mistakes of a caller or in a file, failed(...) for
// failures of the machine. Each caller on the way out puts in front where it
// happened:
//   lenet.gradus: plan 0: graph train: command 12 (adamw x10): ...
// These are our own, and not Abseil's as in the compiler, because libgradus
// must be one small file that needs nothing but the system.

#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gradus::runtime {

enum class StatusCode { ok, invalid, failed, cancelled };

/// Success, which costs nothing, or a kind of failure and its text.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : failure_(std::make_shared<Failure>(Failure{code, std::move(message)})) {
  }

  bool ok() const { return !failure_; }
  StatusCode code() const { return failure_ ? failure_->code : StatusCode::ok; }
  const std::string &message() const {
    static const std::string none;
    return failure_ ? failure_->message : none;
  }
  /// Whether both are one failure: this is a copy of the other. Two that were
  /// made alike are two.
  bool isSameFailureAs(const Status &other) const {
    return failure_ && failure_ == other.failure_;
  }

private:
  struct Failure {
    StatusCode code;
    std::string message;
  };
  std::shared_ptr<const Failure> failure_;
};

/// A value, or the failure that prevented it.
template <typename T> class [[nodiscard]] StatusOr {
public:
  StatusOr(Status status) : status_(std::move(status)) {}
  template <typename U = T>
    requires std::is_convertible_v<U &&, T>
  StatusOr(U &&value) : value_(std::forward<U>(value)) {}

  bool ok() const { return value_.has_value(); }
  const Status &status() const { return status_; }
  T &operator*() & { return *value_; }
  const T &operator*() const & { return *value_; }
  T &&operator*() && { return *std::move(value_); }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }

private:
  Status status_;
  std::optional<T> value_;
};

/// Prints "ok", or the text; for tests and logs.
inline std::ostream &operator<<(std::ostream &out, const Status &status) {
  return out << (status.ok() ? "ok" : status.message());
}

//===-- text --------------------------------------------------------------===//

inline void appendWord(std::string &text, const char *word) { text += word; }
/// Appends strings and views of any library.
template <typename Word>
  requires requires(const Word &word) {
    std::string_view(word.data(), word.size());
  }
void appendWord(std::string &text, const Word &word) {
  text.append(word.data(), word.size());
}
template <typename Number>
  requires std::is_integral_v<Number>
void appendWord(std::string &text, Number number) {
  text += std::to_string(number);
}
/// Six significant digits without zeros at their end: 0, 12.5, 1e-06.
inline void appendWord(std::string &text, double number) {
  char digits[32];
  text.append(digits, std::snprintf(digits, sizeof(digits), "%g", number));
}

/// Appends strings and numbers to a text.
template <typename... Parts>
void append(std::string &text, const Parts &...parts) {
  (appendWord(text, parts), ...);
}

/// Joins strings and numbers to one text.
template <typename... Parts> std::string inWords(const Parts &...parts) {
  std::string text;
  append(text, parts...);
  return text;
}

/// A number as 16 hexadecimal digits.
inline std::string inHex(uint64_t number) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx",
                static_cast<unsigned long long>(number));
  return digits;
}

template <typename... Parts> Status invalid(const Parts &...parts) {
  return {StatusCode::invalid, inWords(parts...)};
}

template <typename... Parts> Status failed(const Parts &...parts) {
  return {StatusCode::failed, inWords(parts...)};
}

/// Puts "where: " in front of a failure; success stays success.
template <typename... Parts>
Status at(const Status &status, const Parts &...where) {
  if (status.ok())
    return status;
  return {status.code(), inWords(where..., ": ", status.message())};
}

} // namespace gradus::runtime

#define GRADUS_JOIN_INNER(a, b) a##b
#define GRADUS_JOIN(a, b) GRADUS_JOIN_INNER(a, b)

/// Returns from the calling function if the status is a failure. The variable
/// has a name that no caller's expression has: it would be read there before it
/// is set.
#define GRADUS_TRY(...)                                                        \
  do {                                                                         \
    if (::gradus::runtime::Status gradusTried = (__VA_ARGS__);                 \
        !gradusTried.ok())                                                     \
      return gradusTried;                                                      \
  } while (false)

/// Sets `lhs` to the value, or returns the failure.
#define GRADUS_ASSIGN(lhs, ...)                                                \
  GRADUS_ASSIGN_FROM(GRADUS_JOIN(result, __LINE__), lhs, __VA_ARGS__)
#define GRADUS_ASSIGN_FROM(result, lhs, ...)                                   \
  auto result = (__VA_ARGS__);                                                 \
  if (!result.ok())                                                            \
    return result.status();                                                    \
  lhs = *std::move(result)
