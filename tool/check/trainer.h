// A compiled model that steps through the batches of a recorded case.

#pragma once

#include "frontends/compiler/compiler.h"
#include "runtime/session/session.h"
#include "tool/check/recorded_case.h"

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
  const std::vector<runtime::StateInfo> &states() const {
    return session_->states();
  }

  /// Runs one step; its outputs are valid until the next.
  void step(int batch);
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
  const RecordedCase &recorded_;
  std::unique_ptr<runtime::Session> session_;
  int graph_ = -1;
  std::vector<int64_t> times_; // of the last timed step
};

} // namespace gradus::check
