// A test at a run's end must not count for the patience: a longer run would not
// have had it.

#include "training/policy.h"

#include <algorithm>

namespace gradus::training {

Policy::Policy(const PolicyOptions &options, const Checkpoints *checkpoints)
    : options_(options), checkpoints_(checkpoints), best_(options.best),
      kept_(options.best) {}

bool Policy::isStopped() const {
  return best_ && options_.patience && best_->stale() >= options_.patience;
}

Decision::Test Policy::testAt(const Border &border) const {
  if (options_.testEvery == 0 || border.tested)
    return Decision::Test::none;
  if (border.step % options_.testEvery == 0)
    return Decision::Test::due;
  return border.isLast ? Decision::Test::atEnd : Decision::Test::none;
}

/// Whether the tested state is the best so far.
bool Policy::judge(const Border &border) {
  if (!best_ || !border.tested)
    return false;
  if (border.step % options_.testEvery == 0)
    best_->update(*border.tested, border.step);
  return kept_->update(*border.tested, border.step);
}

Decision Policy::atBorder(const Border &border) {
  Decision decision;
  decision.isBest = judge(border);
  decision.test = testAt(border);
  decision.save = checkpoints_ && checkpoints_->isDue(border.step);
  if (isStopped())
    decision.then = Decision::Then::finish;
  return decision;
}

int64_t Policy::stepsToRun(int64_t done, int64_t most) {
  for (int64_t every : {options_.testEvery, options_.lookEvery})
    if (every)
      most = std::min(most, every - done % every);
  return checkpoints_ ? std::min(most, checkpoints_->stepsUntilDue(done))
                      : most;
}

void Policy::addTo(TrainingRecord &record) const {
  if (!best_)
    return;
  record.best = nlohmann::json(best_->toJson());
  if (kept_->step() != best_->step())
    record.bestAtEnd = nlohmann::json(kept_->toJson());
}

void Policy::restore(const TrainingRecord &record) {
  if (!best_)
    return;
  best_->restore(record.best);
  kept_->restore(record.best);
  kept_->restore(record.bestAtEnd);
}

} // namespace gradus::training
