// Stores eight bytes for each scalar and step, whatever its type.

#include "training/scalar_outputs.h"

#include "training/number_at.h"

using namespace gradus::runtime;

namespace gradus::training {

ScalarOutputs::ScalarOutputs(const GraphInfo &graph, int64_t steps,
                             int64_t turns)
    : steps_(steps), outputs_(graph.outputs.size() * turns) {
  std::vector<size_t> scalars;
  size_t before = outputs_ - graph.outputs.size();
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    if (graph.outputs[i].type.shape.empty()) {
      scalars.push_back(before + i);
      names_.push_back(graph.outputs[i].name);
      dtypes_.push_back(graph.outputs[i].type.dtype);
    }
  values_.resize(scalars.size() * steps);
  places_.resize(outputs_ * steps);
  for (int64_t step = 0; step < steps; ++step)
    for (size_t i = 0; i < scalars.size(); ++i)
      places_[step * outputs_ + scalars[i]] =
          &values_[step * scalars.size() + i];
}

std::span<void *const> ScalarOutputs::places(int64_t steps) const {
  return {places_.data(), outputs_ * steps};
}

double ScalarOutputs::value(int64_t step, size_t scalar) const {
  return numberAt(dtypes_[scalar], &values_[step * names_.size() + scalar], 0);
}

} // namespace gradus::training
