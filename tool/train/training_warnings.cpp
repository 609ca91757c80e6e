// Sentences on counters of the state.

#include "tool/train/training_warnings.h"

#include "runtime/well_known.h"
#include "tool/session/session_options.h"
#include "tool/text.h"
#include "training/gathered.h"

#include "absl/strings/str_cat.h"

using namespace gradus::runtime;

namespace gradus::cli {

using training::counterOf;
using training::gatheredBatches;

SkippedSteps::SkippedSteps(const Session &session)
    : session_(session), before_(count()) {}

int64_t SkippedSteps::count() const {
  return counterOf(session_, well_known::kSkippedSteps).value_or(0);
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

std::string unappliedBatches(const Session &session, int ranks) {
  int64_t each = stepsPerUpdate(recipeOf(session));
  int64_t left = gatheredBatches(session, each);
  if (left == 0)
    return "";
  const char *later = ranks > 1
                          ? "a run that goes on from the checkpoint on as many "
                            "ranks uses what was gathered"
                          : "a run that goes on from the checkpoint uses what "
                            "was gathered";
  return absl::StrCat("the last ", left,
                      left == 1 ? " batch has" : " batches have",
                      " changed no weight: one update takes ", each,
                      " (accumulation); ", later);
}

Status StepWarnings::onEpoch(const training::EpochReport &report) {
  if (std::string words = skipped_.allOf(report.ran); !words.empty())
    warn(words);
  return {};
}

Status StepWarnings::onSave(const training::SaveReport &report) {
  // Between updates a run on ranks is saved only as the best, or at its end.
  if (ranks_ == 1 && report.kind != training::SaveKind::end)
    return {};
  if (std::string words = unappliedBatches(session_, ranks_); !words.empty())
    note(words);
  return {};
}

} // namespace gradus::cli
