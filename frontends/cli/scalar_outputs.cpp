// Eight bytes a scalar and step, whatever its type.

#include "frontends/cli/scalar_outputs.h"

#include <cmath>
#include <cstring>

using namespace gradus::runtime;

namespace gradus::cli {

ScalarOutputs::ScalarOutputs(const GraphInfo &graph, int64_t steps)
    : steps_(steps), outputs_(graph.outputs.size()) {
  std::vector<size_t> scalars;
  for (size_t i = 0; i < outputs_; ++i)
    if (graph.outputs[i].type.shape.empty()) {
      scalars.push_back(i);
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

template <typename T> static T load(const uint64_t &bytes) {
  T value;
  std::memcpy(&value, &bytes, sizeof(T));
  return value;
}

double ScalarOutputs::value(int64_t step, size_t scalar) const {
  const uint64_t &bytes = values_[step * names_.size() + scalar];
  switch (dtypes_[scalar]) {
  case DType::f32:
    return load<float>(bytes);
  case DType::f64:
    return load<double>(bytes);
  case DType::i32:
    return load<int32_t>(bytes);
  case DType::i64:
    return load<int64_t>(bytes);
  default:
    return std::nan("");
  }
}

} // namespace gradus::cli
