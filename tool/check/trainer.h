// A compiled model that trains on the batches of a recorded case, by the loop
// of training/trainer.h.

#pragma once

#include "frontends/compiler/compiler.h"
#include "runtime/session/session.h"
#include "tool/check/recorded_case.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gradus::check {

/// Returns the value, or throws the status as a Refusal.
template <typename Result> auto takeOrThrow(Result result) {
  if (!result.ok())
    throw Refusal(std::string(result.status().message()));
  return *std::move(result);
}

class Trainer {
public:
  /// Loads an artifact from its bytes; `recorded` must outlive the trainer.
  Trainer(std::vector<char> bytes, const RecordedCase &recorded,
          const runtime::SessionOptions &options);

  uint64_t arenaBytes() const { return session_->memory().arena; }
  const runtime::GraphInfo &graph() const { return session_->graphs()[graph_]; }
  /// Whether a convolution is computed by Winograd's algorithm.
  bool convolvesByWinograd() const;
  const std::vector<runtime::StateInfo> &states() const {
    return session_->states();
  }

  /// Called after each step, whose outputs are valid until the next, with the
  /// seconds that it took.
  using Look = std::function<void(double seconds)>;

  /// Trains on these batches, from the step on that the state is at.
  void train(const std::vector<int> &order, const Look &look = {});
  void step(int batch) { train({batch}); }
  /// Runs one step and sets times() to the time of each command as the device
  /// measured it, or to zeros if another variant of the graph ran.
  void timedStep(int batch);
  const std::vector<int64_t> &times() const { return times_; }
  std::vector<double> output(const std::string &name) const;

  bool hasState(const std::string &name) const;
  std::vector<double> state(const std::string &name) const;

  /// Restores the initial state and changes each element of the f32 parameters
  /// by up to two units in the last place; `seed` 0 changes nothing.
  void restart(uint32_t seed);

private:
  runtime::StatusOr<bool> inputsOf(int batch,
                                   std::vector<const void *> &inputs) const;

  const RecordedCase &recorded_;
  std::unique_ptr<runtime::Session> session_;
  int graph_ = -1;
  std::vector<int64_t> times_; // of the last timed step
};

} // namespace gradus::check
