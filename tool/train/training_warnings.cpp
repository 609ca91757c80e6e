// Counters are states of the artifact; the recipe says what they mean.

#include "tool/train/training_warnings.h"

#include "runtime/well_known.h"
#include "tool/session/session_options.h"

#include "absl/strings/str_cat.h"

#include <optional>

using namespace gradus::runtime;

namespace gradus::cli {

/// The value of a counter; nothing if there is no such state.
static std::optional<int64_t> counter(const Session &session,
                                      const char *name) {
  int64_t value = 0;
  int state = session.findState(name);
  if (state < 0 || session.states()[state].type != TensorType{DType::i64, {}} ||
      !session.readState(name, &value, sizeof(value)).ok())
    return std::nullopt;
  return value;
}

SkippedSteps::SkippedSteps(const Session &session)
    : session_(session), before_(count()) {}

int64_t SkippedSteps::count() const {
  return counter(session_, well_known::kSkippedSteps).value_or(0);
}

std::string SkippedSteps::allOf(int64_t steps) {
  int64_t skipped = count() - before_;
  before_ += skipped;
  if (steps == 0 || skipped < steps)
    return "";
  return absl::StrCat("all ", steps,
                      " steps were skipped, since their gradients were not "
                      "finite: nothing was learnt; look for NaN in the data, "
                      "or take precision bf16 or a smaller loss_scale.initial");
}

std::string unappliedBatches(const Session &session) {
  int64_t each = stepsPerUpdate(recipeOf(session));
  std::optional<int64_t> steps = counter(session, well_known::kAcceptedSteps);
  if (!steps)
    steps = counter(session, well_known::kStep);
  int64_t left = steps.value_or(0) % each;
  if (left == 0)
    return "";
  return absl::StrCat("the last ", left,
                      left == 1 ? " batch has" : " batches have",
                      " changed no weight: one update takes ", each,
                      " (accumulation); a run that goes on from the checkpoint "
                      "uses what was gathered");
}

} // namespace gradus::cli
