// Counters are states of the artifact.

#include "training/gathered.h"

#include "runtime/well_known.h"

using namespace gradus::runtime;

namespace gradus::training {

std::optional<int64_t> counterOf(const Session &session,
                                 const std::string &name) {
  int64_t value = 0;
  int state = session.findState(name);
  if (state < 0 || session.states()[state].type != TensorType{DType::i64, {}} ||
      !session.readState(name, &value, sizeof(value)).ok())
    return std::nullopt;
  return value;
}

int64_t gatheredBatches(const Session &session, int64_t perUpdate) {
  std::optional<int64_t> steps = counterOf(session, well_known::kAcceptedSteps);
  if (!steps)
    steps = counterOf(session, well_known::kStep);
  return steps.value_or(0) % perUpdate;
}

} // namespace gradus::training
