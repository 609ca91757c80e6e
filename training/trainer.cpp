// The step counter is part of the state, the order of the batches a function of
// it, and the figures of the current epoch are in the record. So a resumed run
// does, and tells, what one run would have.

#include "training/trainer.h"

#include "training/artifact_recipe.h"

#include <algorithm>
#include <chrono>

using namespace gradus::runtime;
using Clock = std::chrono::steady_clock;

namespace gradus::training {

/// A piece of steps takes about so many seconds: signals and observers need not
/// wait longer, and the calls cost nothing beside it.
static constexpr double kPieceSeconds = 0.05;
static constexpr int64_t kLongestPiece = 1024; // calls of a graph

/// Sets `lhs` to the value and goes on, or returns another flow or a failure.
#define GO_ON(...)                                                             \
  do {                                                                         \
    auto flow = (__VA_ARGS__);                                                 \
    if (!flow.ok() || *flow != Flow::goOn)                                     \
      return flow;                                                             \
  } while (false)

Tester testerOf(Session &session, int graph, const data::Feed &feed,
                int dataThreads, CommunicationThread *ranks) {
  return [&session, graph, &feed, dataThreads, ranks](bool *unreadable) {
    return evaluate(session, graph, feed, dataThreads, {}, unreadable, ranks);
  };
}

StatusOr<Trainer> Trainer::create(Session &session, BatchSource &batches,
                                  Decider &decider, TrainerOptions options) {
  int graph = -1;
  GRADUS_ASSIGN(graph, graphOf(session, well_known::kTrain));
  if (batches.perEpoch() < 1)
    return invalid("an epoch has ", batches.perEpoch(),
                   " batches, expected 1 or more");
  GRADUS_TRY(
      giveRunLength(session, runLengthOf(recipeOf(session), options.steps,
                                         batches.perEpoch())));
  Trainer trainer(session, graph, batches, decider, std::move(options));
  GRADUS_ASSIGN(trainer.span_.start, session.stepCount());
  trainer.span_.done = trainer.span_.start;
  if (trainer.span_.start < 0)
    return invalid("the state is at step ", trainer.span_.start,
                   ", expected 0 or more");
  return trainer;
}

Trainer::Trainer(Session &session, int graph, BatchSource &batches,
                 Decider &decider, TrainerOptions options)
    : session_(&session), graph_(graph), batches_(&batches), decider_(&decider),
      options_(std::move(options)),
      scalars_(session.graphs()[graph],
               std::max<int64_t>(1, kLongestPiece / session.turns()),
               session.turns()) {
  span_.steps = options_.steps;
  span_.perEpoch = batches.perEpoch();
}

void Trainer::resume(const TrainingRecord &record) {
  figures_.restore(record.epoch);
  reported_ = record.reported ? span_.done : -1;
  decider_->restore(record);
}

TrainingRecord Trainer::record() const {
  TrainingRecord record = options_.record;
  record.epoch = figures_.toJson();
  record.reported = reported_ == span_.done;
  decider_->addTo(record);
  return record;
}

//===-- steps -------------------------------------------------------------===//

/// A piece ends where something is due.
int64_t Trainer::pieceOf(int64_t left) const {
  int64_t ran = span_.done - span_.start;
  double perStep = ran ? times_.all / static_cast<double>(ran) : 1;
  double wanted = std::min(kPieceSeconds / perStep, double(scalars_.steps()));
  int64_t count = std::clamp<int64_t>(int64_t(wanted), 1, left);
  if (options_.longestPiece)
    count = std::min(count, options_.longestPiece);
  return std::clamp<int64_t>(decider_->stepsToRun(span_.done, count), 1, left);
}

/// Runs `count` steps of the chunk, with all of their turns, in one call of the
/// runtime.
StatusOr<Trainer::Flow> Trainer::trainPiece(const data::Chunk &chunk,
                                            int64_t from, int64_t count) {
  size_t inputs = chunk.inputs.size() / chunk.count;
  int64_t turns = session_->turns(), ran = 0;
  auto began = Clock::now();
  Status status =
      session_->steps(graph_, count * turns,
                      chunk.inputs.subspan(from * inputs, count * inputs),
                      scalars_.places(count), &ran);
  ran /= turns;
  Status refused;
  double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  times_.all += seconds;
  times_.epoch += seconds;
  times_.epochSteps += ran;
  for (int64_t i = 0; i < ran && refused.ok(); ++i)
    refused = countStep(chunk.first + from + i, i,
                        chunk.inputs.subspan((from + i) * inputs, inputs));
  if (status.ok()) // Else other processes may be within their steps.
    refused = settled(refused);
  GRADUS_TRY(refused);
  span_.done = chunk.first + from + ran;
  if (status.code() == StatusCode::cancelled)
    return Flow::breakOff;
  if (status.ok())
    return Flow::goOn;
  for (Observer *observer : observers_)
    status = observer->onFailedStep(status);
  return status;
}

Status Trainer::countStep(int64_t step, int64_t place, Inputs inputs) {
  latest_.resize(scalars_.names().size());
  for (size_t i = 0; i < latest_.size(); ++i)
    latest_[i] = {scalars_.names()[i], scalars_.value(place, i)};
  StepReport report{step + 1, epochOf(step) + 1, latest_, inputs, {}};
  GRADUS_TRY(each([&](Observer &o) { return o.checkStep(report); }));
  figures_.add(latest_);
  return each([&](Observer &o) { return o.onStep(report); });
}

StatusOr<Trainer::Flow> Trainer::trainChunk(const data::Chunk &chunk) {
  for (int64_t from = 0; from < chunk.count;) {
    int64_t count = pieceOf(chunk.count - from);
    double before = times_.all;
    GO_ON(trainPiece(chunk, from, count));
    from += count;
    Decision decision = decider_->atBorder(border());
    if (decision.then == Decision::Then::breakOff)
      return Flow::breakOff;
    GRADUS_TRY(each([&](Observer &o) {
      return o.onPiece(
          {span_.done, span_.steps, latest_, count, times_.all - before});
    }));
    GO_ON(isEpochEnd() ? endEpoch(decision) : afterPiece(decision));
  }
  return Flow::goOn;
}

StatusOr<Trainer::Flow> Trainer::trainBatches() {
  while (span_.done < span_.steps) {
    auto chunk = batches_->next();
    if (chunk.ok() && !*chunk)
      chunk = invalid("the batches end after step ", span_.done, " of ",
                      span_.steps);
    why_ = chunk.status();
    GRADUS_TRY(decider_->settle(why_));
    if (!why_.ok())
      return Flow::unreadable;
    GO_ON(trainChunk(**chunk));
  }
  return Flow::goOn;
}

StatusOr<Trainer::Flow> Trainer::trainAll() {
  GO_ON(catchUp());
  if (span_.done >= span_.steps)
    return Flow::goOn;
  GRADUS_TRY(batches_->begin(span_.done, span_.steps));
  auto flow = trainBatches();
  batches_->end();
  return flow;
}

/// Returns the failure with which all processes end: of this one, or another.
Status Trainer::settled(Status found) {
  GRADUS_TRY(decider_->settle(found));
  return found;
}

//===-- borders -----------------------------------------------------------===//

Border Trainer::border(bool isStart) const {
  return {span_.done, isStart, isEpochEnd(), span_.done == span_.steps,
          nullptr};
}

/// Does what is due within an epoch.
StatusOr<Trainer::Flow> Trainer::afterPiece(Decision &decision) {
  if (decision.test != Decision::Test::none && tester_)
    GO_ON(testInside(decision));
  if (decision.then == Decision::Then::finish)
    return Flow::finish;
  if (decision.save)
    GRADUS_TRY(save(SaveKind::due));
  return Flow::goOn;
}

/// Tests, and sets `decision` to the one with the figures. If that ends the
/// run, the epoch ends here.
StatusOr<Trainer::Flow> Trainer::testInside(Decision &decision) {
  GO_ON(test());
  reported_ = span_.done;
  GRADUS_ASSIGN(decision, judge(/*isInside=*/true));
  if (decision.then == Decision::Then::finish)
    GRADUS_TRY(reportEpoch(/*hasOwnTest=*/false));
  return Flow::goOn;
}

/// Ends an epoch, or its part at the run's end; `decision` becomes the one with
/// the figures of a test.
StatusOr<Trainer::Flow> Trainer::endEpoch(Decision &decision) {
  bool tests = decision.test != Decision::Test::none && tester_;
  if (tests)
    GO_ON(test());
  GRADUS_TRY(reportEpoch(decision.test == Decision::Test::due && tests &&
                         span_.done % span_.perEpoch != 0));
  if (tests) {
    GRADUS_ASSIGN(decision, judge(/*isInside=*/false));
  }
  if (decision.then == Decision::Then::finish)
    return Flow::finish;
  if (decision.save && span_.done != span_.steps)
    GRADUS_TRY(save(SaveKind::due));
  return Flow::goOn;
}

/// Tells of the test of this step, asks what follows, and keeps the best state.
StatusOr<Decision> Trainer::judge(bool isInside) {
  TestReport report{span_.done, span_.steps, epochOf(span_.done - 1) + 1,
                    tested_.figures, isInside};
  GRADUS_TRY(settled(each([&](Observer &o) { return o.onTest(report); })));
  Border border = this->border();
  border.tested = &tested_.figures;
  Decision decision = decider_->atBorder(border);
  if (decision.isBest)
    GRADUS_TRY(save(SaveKind::best));
  return decision;
}

StatusOr<Trainer::Flow> Trainer::test() {
  bool unreadable = false;
  auto figures = tester_(&unreadable);
  if (figures.ok()) {
    tested_ = {*std::move(figures), span_.done};
    return Flow::goOn;
  }
  if (unreadable) {
    why_ = figures.status();
    return Flow::unreadable;
  }
  if (figures.status().code() == StatusCode::cancelled)
    return Flow::breakOff;
  return figures.status();
}

/// Tells of an epoch, or of the part that was run.
Status Trainer::reportEpoch(bool hasOwnTest) {
  EpochReport report;
  report.epoch = epochOf(span_.done - 1) + 1;
  report.epochs = epochOf(span_.steps - 1) + 1;
  report.step = span_.done;
  report.steps = span_.steps;
  report.train = figures_.figures();
  if (tested_.at == span_.done)
    report.test = tested_.figures;
  report.ran = times_.epochSteps;
  report.secondsPerStep =
      times_.epoch /
      static_cast<double>(std::max<int64_t>(1, times_.epochSteps));
  report.hasOwnTest = hasOwnTest;
  GRADUS_TRY(each([&](Observer &o) { return o.onEpoch(report); }));
  reported_ = span_.done;
  if (span_.done % span_.perEpoch == 0) // else a later run continues it
    figures_.clear();
  times_.epoch = 0;
  times_.epochSteps = 0;
  return {};
}

/// Does what a run lacks that was stopped after a step but before its figures,
/// and tells of an epoch that ended early, which its log has lost again.
StatusOr<Trainer::Flow> Trainer::catchUp() {
  Decision decision = decider_->atBorder(border(/*isStart=*/true));
  bool isInside = !isEpochEnd() && span_.done < span_.steps;
  bool isReported = span_.done == 0 || reported_ == span_.done;
  if (isInside && decision.then == Decision::Then::finish &&
      !figures_.empty()) {
    if (tester_)
      GO_ON(test());
    GRADUS_TRY(reportEpoch(/*hasOwnTest=*/false));
  } else if (!isReported && isInside && decision.test != Decision::Test::none &&
             tester_) {
    GO_ON(testInside(decision));
  } else if (!isReported && isEpochEnd() && !figures_.empty()) {
    GO_ON(endEpoch(decision));
  }
  return decision.then == Decision::Then::finish ? Flow::finish : Flow::goOn;
}

//===-- ends --------------------------------------------------------------===//

Status Trainer::save(SaveKind kind) {
  SaveReport report{span_.done, kind, {{"training", record().text()}}};
  auto all = [&](auto &&call) {
    Status status = each(call);
    if (!status.ok() && !why_.ok()) // The data came to an end before the disk.
      status = {status.code(),
                inWords(status.message(), "; before that: ", why_.message())};
    return settled(status);
  };
  GRADUS_TRY(all([&](Observer &o) { return o.beforeSave(report); }));
  return all([&](Observer &o) { return o.onSave(report); });
}

StatusOr<Outcome> Trainer::stop(Flow flow) {
  GRADUS_TRY(save(SaveKind::breakOff));
  if (flow == Flow::unreadable)
    return Outcome{Outcome::End::unreadable, why_};
  return Outcome{Outcome::End::brokenOff, {}};
}

StatusOr<Outcome> Trainer::run() {
  auto trained = trainAll();
  GRADUS_TRY(trained.status());
  if (*trained == Flow::breakOff || *trained == Flow::unreadable)
    return stop(*trained);
  GRADUS_TRY(save(SaveKind::end));
  if (tester_ && tested_.at != span_.done) {
    auto last = test();
    GRADUS_TRY(last.status());
    if (*last != Flow::goOn)
      return stop(*last);
  }
  return Outcome{*trained == Flow::finish ? Outcome::End::finished
                                          : Outcome::End::done,
                 {}};
}

} // namespace gradus::training
