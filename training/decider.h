// Decides at the borders between steps what a trainer does: test, save, stop.
//
// A border lies after each call of the runtime and before the first. Whoever
// decides need not look at the session: a process of many can ask another one,
// so that all do the same at the same step.

#pragma once

#include "runtime/status.h"
#include "training/metric.h"
#include "training/training_record.h"

#include <cstdint>
#include <vector>

namespace gradus::training {

struct Border {
  int64_t step = 0;       // steps that are done
  bool isStart = false;   // nothing has run yet: a former run may have ended
                          // here before it could do what is due
  bool endsEpoch = false; // an epoch, or the run, ends with this step
  bool isLast = false;    // the run's steps are done
  /// The figures of a test at this border; null if there was none.
  const std::vector<Metric> *tested = nullptr;
};

struct Decision {
  enum class Test {
    none,
    due,   // in every run that comes to this step
    atEnd, // because this run ends: a longer one would not test here
  };
  enum class Then {
    goOn,
    finish,   // end the run as if its steps were done
    breakOff, // save and leave at once; another run goes on from here
  };
  Test test = Test::none;
  bool isBest = false; // of a border with a test: keep this state
  bool save = false;   // of a run that goes on; the end saves always
  Then then = Then::goOn;
};

class Decider {
public:
  virtual ~Decider() = default;

  /// Decides at a border. Where the answer asks for a test, it is asked again
  /// with the figures, and that answer counts.
  virtual Decision atBorder(const Border &border) = 0;
  /// The number of steps, from 1 to `most`, to run after step `done` before the
  /// next border. It is asked once before each call of the runtime.
  virtual int64_t stepsToRun(int64_t done, int64_t most) = 0;
  /// Settles whether the run goes on from a point between steps, to which all
  /// processes come: the failure that this one has found, if any, becomes that
  /// with which all end. An error ends the run at once.
  virtual runtime::Status settle(runtime::Status &) { return {}; }

  /// Writes to the record of a checkpoint what decisions depend on, and reads
  /// it: a resumed run decides as one run would have.
  virtual void addTo(TrainingRecord &) const {}
  virtual void restore(const TrainingRecord &) {}
};

} // namespace gradus::training
