// Finds states that training has made non-finite.

#pragma once

#include "runtime/session/session.h"

#include <set>
#include <string>

namespace gradus::training {

class SpoiledStates {
public:
  /// States that are not finite now may stay so, such as a mask of infinities.
  /// With `weightsAlone` slots may also become so: a loss scale lets gradients
  /// overflow. The session must outlive this.
  static runtime::StatusOr<SpoiledStates>
  create(const runtime::Session &session, bool weightsAlone);

  /// The name of the first such state; empty if there is none. Fails if the
  /// device has failed.
  runtime::StatusOr<std::string> first() const;

private:
  SpoiledStates(const runtime::Session &session, bool weightsAlone)
      : session_(&session), weightsAlone_(weightsAlone) {}
  runtime::StatusOr<bool> isSpoiled(size_t state) const;

  const runtime::Session *session_;
  bool weightsAlone_;
  std::set<size_t> before_;
};

} // namespace gradus::training
