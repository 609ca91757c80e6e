// Trains: runs the steps of an artifact over batches, epoch by epoch, tests the
// state, and goes on from a checkpoint as if it had never stopped.
//
//   FeedBatches batches(feed, seed);
//   Policy policy({.testEvery = 44, .best = best, .patience = 5}, &saved);
//   auto trainer = Trainer::create(*session, batches, policy, {.steps = 880});
//   trainer->testBy(testerOf(*session, evaluate, tests));
//   trainer->add(log);
//   trainer->add(saved); // Checkpoints
//   auto outcome = trainer->run();
//
// What it does at a border between steps (test, save, stop) a Decider says, and
// what happens it tells to observers. It prints nothing, handles no signals and
// throws nothing; Session::cancel(), from any thread or signal handler, breaks
// a run off.
//
// A step is one of all ranks together. Where a process computes several logical
// ranks, it is as many calls of the graph (Session::turns); all that is counted
// here is steps.
//
// Ownership. A trainer refers to session, batches, decider and observers, which
// must outlive it, and owns none of them. One thread may use it, and them.
//
// Order. After each piece of steps (about 50 ms): the decider is asked; the
// test that it asks for; onTest or, at an epoch's end, onEpoch and then onTest;
// the decider with the figures; onSave. At the end: onSave, and a test if the
// last one is of an earlier step.
//
// Errors. An error of a step, of an observer or of the disk ends run() with a
// Status, and the state is not saved again. Data that can no longer be read,
// and a run that is broken off, are outcomes: their steps were right and the
// state is saved. What a process finds between steps (its data cannot be read,
// a figure is refused) ends all at the same step, with the same words
// (Decider::settle).

#pragma once

#include "runtime/session/session.h"
#include "training/batch_source.h"
#include "training/decider.h"
#include "training/evaluation.h"
#include "training/observer.h"
#include "training/scalar_outputs.h"
#include "training/training_record.h"

#include <string>
#include <vector>

namespace gradus::training {

/// Tests a state: returns its figures. `*unreadable` says of a failure whether
/// it is of the data, and the state is as it was.
using Tester =
    std::function<runtime::StatusOr<std::vector<Metric>>(bool *unreadable)>;

/// Evaluates a graph, such as `evaluate`, on a feed; both, and the session,
/// must outlive the tester.
Tester testerOf(runtime::Session &session, int graph, const data::Feed &feed,
                int dataThreads = 1,
                runtime::CommunicationThread *ranks = nullptr);

struct TrainerOptions {
  /// The step after which the run ends, counted from the first of training.
  int64_t steps = 1;
  /// The maximum number of steps in a call of the runtime; 0: what takes about
  /// 50 ms. An observer that looks into the session after each step needs 1.
  int64_t longestPiece = 0;
  /// Checkpoints keep this of the run besides figures and decisions: seed,
  /// samples, batch, classes, recipe.
  TrainingRecord record = {};
};

struct Outcome {
  enum class End {
    done,       // all steps
    finished,   // by the decider, before them
    brokenOff,  // by the decider or Session::cancel(); the state is saved
    unreadable, // the batches or the test's data, `why`; the state is saved
  };
  End end = End::done;
  runtime::Status why;
};

class Trainer {
public:
  /// Takes the step from the session, and gives it the length of the run where
  /// its schedules ask for one. Fails if the artifact does not train, or
  /// an epoch has no batch.
  static runtime::StatusOr<Trainer> create(runtime::Session &session,
                                           BatchSource &batches,
                                           Decider &decider,
                                           TrainerOptions options);

  Trainer(Trainer &&) = default;

  /// Adds the last of the observers.
  void add(Observer &observer) { observers_.push_back(&observer); }
  /// Without a tester, decisions to test are ignored.
  void testBy(Tester tester) { tester_ = std::move(tester); }
  /// Continues the epoch and the decisions of a checkpoint's record, whose
  /// states the session has.
  void resume(const TrainingRecord &record);

  /// Runs the steps up to the last.
  runtime::StatusOr<Outcome> run();

  int64_t start() const { return span_.start; }
  int64_t step() const { return span_.done; }
  int64_t steps() const { return span_.steps; }
  int64_t perEpoch() const { return span_.perEpoch; }
  /// The figures of the last test; empty if there was none.
  const std::vector<Metric> &tested() const { return tested_.figures; }
  /// The time within steps.
  double secondsInSteps() const { return times_.all; }
  /// The record of the run after its last step.
  TrainingRecord record() const;

private:
  enum class Flow { goOn, finish, breakOff, unreadable };
  using Inputs = std::span<const void *const>;
  /// Steps: where the run began, is and ends, and those of an epoch.
  struct Span {
    int64_t start = 0, done = 0, steps = 0, perEpoch = 1;
  };
  /// Seconds in steps, in all and in this epoch, and its steps.
  struct Times {
    double all = 0, epoch = 0;
    int64_t epochSteps = 0;
  };
  struct Tested {
    std::vector<Metric> figures;
    int64_t at = -1;
  };

  Trainer(runtime::Session &session, int graph, BatchSource &batches,
          Decider &decider, TrainerOptions options);

  int64_t epochOf(int64_t step) const { return step / span_.perEpoch; }
  bool isEpochEnd() const {
    return span_.done % span_.perEpoch == 0 || span_.done == span_.steps;
  }
  Border border(bool isStart = false) const;
  int64_t pieceOf(int64_t left) const;
  runtime::StatusOr<Flow> trainAll();
  runtime::StatusOr<Flow> trainBatches();
  runtime::StatusOr<Flow> trainChunk(const data::Chunk &chunk);
  runtime::StatusOr<Flow> trainPiece(const data::Chunk &chunk, int64_t from,
                                     int64_t count);
  runtime::Status countStep(int64_t step, int64_t place, Inputs inputs);
  runtime::StatusOr<Flow> catchUp();
  runtime::StatusOr<Flow> afterPiece(Decision &decision);
  runtime::StatusOr<Flow> testInside(Decision &decision);
  runtime::StatusOr<Flow> endEpoch(Decision &decision);
  runtime::StatusOr<Flow> test();
  runtime::StatusOr<Decision> judge(bool isInside);
  runtime::Status reportEpoch(bool hasOwnTest);
  runtime::Status save(SaveKind kind);
  runtime::Status settled(runtime::Status found);
  runtime::StatusOr<Outcome> stop(Flow flow);
  /// Calls all observers until one fails.
  template <typename Call> runtime::Status each(Call call) {
    for (Observer *observer : observers_)
      GRADUS_TRY(call(*observer));
    return {};
  }

  runtime::Session *session_;
  int graph_;
  BatchSource *batches_;
  Decider *decider_;
  TrainerOptions options_;
  std::vector<Observer *> observers_;
  Tester tester_;
  ScalarOutputs scalars_;
  Span span_;
  Times times_;
  EpochFigures figures_;       // of the current epoch
  std::vector<Metric> latest_; // of the last step
  Tested tested_;
  int64_t reported_ = -1; // the step of the last report of an epoch or a test
  runtime::Status why_;   // of an unreadable end
};

} // namespace gradus::training
