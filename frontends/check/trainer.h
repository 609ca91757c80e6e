// A compiled model that steps through the batches of a recorded case.

#pragma once

#include "frontends/check/recorded_case.h"
#include "frontends/compiler/compiler.h"
#include "runtime/session.h"

#include <memory>
#include <string>
#include <vector>

namespace gradus::check {

/// The value, or throws what the status says.
template <typename Result> auto takeOrThrow(Result result) {
  if (!result.ok())
    throw Refusal(std::string(result.status().message()));
  return *std::move(result);
}

class Trainer {
public:
  /// Of an artifact's bytes; `recorded` must outlive this.
  Trainer(std::vector<char> bytes, const RecordedCase &recorded,
          const runtime::SessionOptions &options);

  uint64_t arenaBytes() const { return session_->memory().arena; }
  const runtime::GraphInfo &graph() const { return session_->graphs()[graph_]; }
  const std::vector<runtime::StateInfo> &states() const {
    return session_->states();
  }

  /// Runs one step; its outputs are there until the next.
  void step(int batch);
  std::vector<double> output(const std::string &name) const;

  bool hasState(const std::string &name) const;
  std::vector<double> state(const std::string &name) const;

  /// Back to the initial state, with every element of the f32 parameters moved
  /// by up to two units in the last place; `seed` 0 leaves them as they are.
  void restart(uint32_t seed);

private:
  const RecordedCase &recorded_;
  std::unique_ptr<runtime::Session> session_;
  int graph_ = -1;
};

} // namespace gradus::check
