// Looks at every number of the states, which costs little beside writing them.

#include "training/spoiled_states.h"

#include "runtime/session/nonfinite.h"
#include "runtime/session/session_facts.h"

using namespace gradus::runtime;

namespace gradus::training {

StatusOr<SpoiledStates> SpoiledStates::create(const Session &session,
                                              bool weightsAlone) {
  SpoiledStates states(session, weightsAlone);
  for (size_t i = 0; i < session.states().size(); ++i) {
    bool spoiled = false;
    GRADUS_ASSIGN(spoiled, states.isSpoiled(i));
    if (spoiled)
      states.before_.insert(i);
  }
  return states;
}

StatusOr<bool> SpoiledStates::isSpoiled(size_t state) const {
  const StateInfo &info = session_->states()[state];
  if (!isSaved(info)) // The weights of copies are checked.
    return false;
  if (weightsAlone_ && info.role != artifact::Role::parameter &&
      info.role != artifact::Role::buffer)
    return false;
  auto bytes = session_->stateBytes(static_cast<int>(state));
  GRADUS_TRY(bytes.status());
  return holdsNonfinite(info.type.dtype, bytes->data(), bytes->size(), true) ||
         holdsNonfinite(info.type.dtype, bytes->data(), bytes->size(), false);
}

StatusOr<std::string> SpoiledStates::first() const {
  for (size_t i = 0; i < session_->states().size(); ++i) {
    if (before_.contains(i))
      continue;
    bool spoiled = false;
    GRADUS_ASSIGN(spoiled, isSpoiled(i));
    if (spoiled)
      return session_->states()[i].name;
  }
  return std::string();
}

} // namespace gradus::training
