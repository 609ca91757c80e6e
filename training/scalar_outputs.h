// Collects the scalar outputs of a graph (loss, metrics) for several steps of
// one call.

#pragma once

#include "runtime/session/session.h"

#include <span>
#include <string>
#include <vector>

namespace gradus::training {

class ScalarOutputs {
public:
  /// Allocates memory for `steps` steps of a graph, of which each is so many
  /// calls.
  ScalarOutputs(const runtime::GraphInfo &graph, int64_t steps,
                int64_t turns = 1);

  /// The outputs that Session::steps needs for the calls of `steps` steps: the
  /// addresses of the scalars for the last call of a step, null for other calls
  /// and outputs.
  std::span<void *const> places(int64_t steps) const;

  const std::vector<std::string> &names() const { return names_; }
  int64_t steps() const { return steps_; }
  double value(int64_t step, size_t scalar) const;

private:
  static constexpr size_t kBytes = 8; // of the largest scalar

  std::vector<std::string> names_;
  std::vector<runtime::DType> dtypes_;
  int64_t steps_;
  size_t outputs_; // of all calls of a step
  std::vector<uint64_t> values_;
  std::vector<void *> places_;
};

} // namespace gradus::training
