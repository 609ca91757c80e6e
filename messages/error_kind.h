// Kinds of errors and their places, for callers that act on them: the words of
// an error are for people alone.
#pragma once

#include "messages/message.h"

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

#include <string>

namespace gradus {

/// The kinds of errors that a caller asks for.
enum class ErrorKind {
  unsupported,  // a model uses what Gradus does not have
  unknownSizes, // sizes of a model's inputs are neither stated nor given
  weights,      // the values that were given do not fit the model
};

namespace error_kind {
constexpr absl::string_view kKind = "gradus/kind", kPlace = "gradus/place";

inline std::string payloadOf(const absl::Status &status,
                             absl::string_view which) {
  auto found = status.GetPayload(which);
  return found ? std::string(*found) : "";
}

inline void setPayload(absl::Status &status, absl::string_view which,
                       const std::string &value) {
  status.SetPayload(which, absl::Cord(value));
}
} // namespace error_kind

/// Says of a failure what it is about; success stays success.
inline absl::Status withKind(absl::Status status, ErrorKind kind) {
  error_kind::setPayload(status, error_kind::kKind, std::to_string(int(kind)));
  return status;
}

inline bool isOfKind(const absl::Status &status, ErrorKind kind) {
  return error_kind::payloadOf(status, error_kind::kKind) ==
         std::to_string(int(kind));
}

/// The error of a model that uses what Gradus does not have.
template <typename... Part> absl::Status unsupported(const Part &...parts) {
  return withKind(invalid(parts...), ErrorKind::unsupported);
}

/// Puts "where: " in front of a failure, which keeps its code and its kind.
template <typename... Part>
absl::Status at(const absl::Status &status, const Part &...where) {
  if (status.ok())
    return status;
  absl::Status result(status.code(), message(where..., ": ", status.message()));
  status.ForEachPayload([&](absl::string_view which, const absl::Cord &value) {
    if (which != error_kind::kPlace)
      result.SetPayload(which, value);
  });
  return result;
}

/// An error whose message is `place` and `words`, without a mark between.
inline absl::Status errorAt(const std::string &place,
                            const std::string &words) {
  absl::Status status = invalid(place, words);
  error_kind::setPayload(status, error_kind::kPlace, place);
  return status;
}

/// The words of an error behind its place, if `place` is that; else all.
inline absl::string_view wordsBehind(const absl::Status &error,
                                     const std::string &place) {
  absl::string_view words = error.message();
  if (error_kind::payloadOf(error, error_kind::kPlace) == place)
    words.remove_prefix(place.size());
  return words;
}

} // namespace gradus
