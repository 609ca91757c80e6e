// Finds states that training has made non-finite.

#pragma once

#include "runtime/session/session.h"

#include <set>
#include <string>

namespace gradus::cli {

class SpoiledStates {
public:
  /// States that are not finite now may stay so, such as a mask of infinities.
  /// With `weightsAlone` slots may also become so: a loss scale lets gradients
  /// overflow. The session must outlive this.
  SpoiledStates(const runtime::Session &session, bool weightsAlone);

  /// The name of the first such state; empty if there is none.
  std::string first() const;

private:
  bool isSpoiled(size_t state) const;

  const runtime::Session &session_;
  bool weightsAlone_;
  std::set<size_t> before_;
};

} // namespace gradus::cli
