// Looks at every number of the states, which costs little beside writing them.

#include "tool/train/spoiled_states.h"

#include "runtime/session/nonfinite.h"
#include "tool/failure.h"

using namespace gradus::runtime;

namespace gradus::cli {

SpoiledStates::SpoiledStates(const Session &session, bool weightsAlone)
    : session_(session), weightsAlone_(weightsAlone) {
  for (size_t i = 0; i < session.states().size(); ++i)
    if (isSpoiled(i))
      before_.insert(i);
}

bool SpoiledStates::isSpoiled(size_t state) const {
  const StateInfo &info = session_.states()[state];
  if (info.role == artifact::Role::copy) // its weights are checked
    return false;
  if (weightsAlone_ && info.role != artifact::Role::parameter &&
      info.role != artifact::Role::buffer)
    return false;
  auto bytes = take(session_.stateBytes(static_cast<int>(state)));
  return holdsNonfinite(info.type.dtype, bytes.data(), bytes.size(), true) ||
         holdsNonfinite(info.type.dtype, bytes.data(), bytes.size(), false);
}

std::string SpoiledStates::first() const {
  for (size_t i = 0; i < session_.states().size(); ++i)
    if (!before_.contains(i) && isSpoiled(i))
      return session_.states()[i].name;
  return "";
}

} // namespace gradus::cli
