// Observers hear from a trainer what happens in its run.
//
// A trainer calls its observers in the order in which they were added, in the
// thread that runs the steps. An error of any of them ends the run at once,
// without saving the state. What a report refers to is valid during the call.

#pragma once

#include "runtime/safetensors.h"
#include "runtime/status.h"
#include "training/metric.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace gradus::training {

/// A step that has run. Steps and epochs count from 1, those before a resume
/// included.
struct StepReport {
  int64_t step = 0, epoch = 0;
  const std::vector<Metric> &figures;  // the scalars of the graph
  std::span<const void *const> inputs; // the batch, in the graph's order, of
                                       // each turn (Session::turns)
  std::vector<Metric> besides;         // what observers add for later ones
};

/// The steps that ran in one call of the runtime, some 50 ms of them.
struct PieceReport {
  int64_t step = 0, steps = 0;        // done; in all
  const std::vector<Metric> &figures; // of the last step
  int64_t ran = 0;                    // the steps of this piece
  double seconds = 0;                 // within them
};

/// A test of the state after a step.
struct TestReport {
  int64_t step = 0, steps = 0; // done; in all
  int64_t epoch = 0;
  const std::vector<Metric> &figures;
  bool isInside = false; // an epoch that goes on; else its report came before
};

/// An epoch that has ended, or the part of it before the run's end.
struct EpochReport {
  int64_t epoch = 0, epochs = 0;
  int64_t step = 0, steps = 0;     // done; in all
  std::vector<Metric> train, test; // means of its steps; no test: none was due
  double secondsPerStep = 0;       // of those that ran now
  int64_t ran = 0;                 // steps that ran now
  bool hasOwnTest = false; // the test was due at this step of a longer run,
                           // too, in which the epoch would go on
};

/// Reasons to save a state.
enum class SaveKind {
  due,      // the decider asked for it
  best,     // the decider found no better one
  end,      // the run has done its steps, or the decider finishes it
  breakOff, // the run was broken off, and another will continue it
};

struct SaveReport {
  int64_t step = 0;
  SaveKind kind = SaveKind::due;
  /// The record of the run, which a checkpoint keeps beside the states.
  std::map<std::string, std::string> notes;
  /// The values of other ranks in states of their own, for rank 0 to save; they
  /// are valid until all observers have saved.
  std::vector<runtime::NamedTensor> others = {};

  /// Whether the run ends here.
  bool isLast() const {
    return kind == SaveKind::end || kind == SaveKind::breakOff;
  }
};

class Observer {
public:
  virtual ~Observer() = default;

  /// Asked of all observers before a step counts: an error refuses it.
  virtual runtime::Status checkStep(const StepReport &) { return {}; }
  virtual runtime::Status onStep(StepReport &) { return {}; }
  virtual runtime::Status onPiece(const PieceReport &) { return {}; }
  virtual runtime::Status onEpoch(const EpochReport &) { return {}; }
  virtual runtime::Status onTest(const TestReport &) { return {}; }
  /// Asked of all observers before any of them saves the state: adds what a
  /// checkpoint keeps. No rank saves if one of them has an error here.
  virtual runtime::Status beforeSave(SaveReport &) { return {}; }
  /// Saves the state, or does what must be done before or after that.
  virtual runtime::Status onSave(const SaveReport &) { return {}; }
  /// A step has failed; returns the error with what is left to the user.
  virtual runtime::Status onFailedStep(const runtime::Status &why) {
    return why;
  }
};

} // namespace gradus::training
