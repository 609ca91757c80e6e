// Compares the record of a checkpoint with the run that continues from it.

#include "tool/train/continued_run.h"

#include "tool/failure.h"
#include "tool/text.h"
#include "tool/train/recipe_changes.h"

#include "absl/strings/str_join.h"

namespace gradus::cli {

double partForTests(const TrainOptions &options,
                    const std::optional<TrainingRecord> &record,
                    uint64_t seed) {
  double part = options.test.validation,
         before = record ? record->validation : 0;
  if (part == 0 && options.test.data.empty())
    part = before;
  const std::string &checkpoint = options.session.resume;
  if (before > 0 && part > 0 && before != part)
    throw badInput("--validation ", part, ": ", checkpoint,
                   " was trained with ", before,
                   ", and has seen samples that would be tested on now; leave "
                   "the option out to keep that part");
  if (before > 0 && part > 0 && record->seed != seed)
    throw badInput("--seed ", seed, ": ", checkpoint, " was trained with ",
                   record->seed,
                   ", and has seen samples that --validation would test on "
                   "now; leave the option out to keep that seed");
  if (record && (before > 0) != (part > 0))
    warn(before > 0 ? "the checkpoint was trained with --validation, now what "
                      "it kept for tests is trained on, too"
                    : "the checkpoint was trained with all samples, now some "
                      "of them are tested on");
  return part;
}

static void warnOfOther(const char *what, const std::string &before,
                        const char *now, const std::string &value) {
  if (before != value)
    warn(absl::StrCat("the checkpoint was trained with ", what, " ", before,
                      ", now ", now, " ", value,
                      ": this run goes on otherwise than that one would have"));
}

static std::string shown(const std::vector<std::string> &passes) {
  return passes.empty() ? "none" : absl::StrJoin(passes, ", ");
}

static std::string recipeChangesOf(TrainingRecord before, TrainingRecord now) {
  leaveOutBatch(before.recipe, before.batchOfRank(), now.recipe,
                now.batchOfRank());
  return recipeChanges(before.recipe, now.recipe);
}

/// An older record does not say how many ranks there were: one, or as many as
/// now, whichever leaves fewer changes.
static std::string recipeChangesOfAny(TrainingRecord before,
                                      const TrainingRecord &now) {
  if (before.recipe.is_null()) // It is not recorded.
    return "";
  std::string changes = recipeChangesOf(before, now);
  if (before.ranks || now.ranks <= 1 || before.batch % now.ranks)
    return changes;
  before.ranks = now.ranks;
  std::string ofAsMany = recipeChangesOf(before, now);
  return ofAsMany.size() < changes.size() ? ofAsMany : changes;
}

void warnOfOthers(const TrainingRecord &before, const TrainingRecord &now) {
  auto number = [](auto value) { return absl::StrCat(value); };
  warnOfOther("seed", number(before.seed), "it is", number(now.seed));
  warnOfOther("a number of samples of", number(before.samples), "it is",
              number(now.samples));
  warnOfOther("a batch of", number(before.batch), "it is", number(now.batch));
  warnOfOther("added passes", shown(before.passes), "they are",
              shown(now.passes));
  if (!before.plan.empty() && !now.plan.empty())
    warnOfOther("the plan", before.plan, "it is", now.plan);
  std::string changes = recipeChangesOfAny(before, now);
  if (!changes.empty())
    warn(absl::StrCat("the checkpoint was trained with another recipe (",
                      changes,
                      "): this run goes on otherwise than that one would "
                      "have"));
}

} // namespace gradus::cli
