// The artifact was verified: initial values are within the weights.

#include "runtime/session/initial_values.h"

#include "runtime/flat.h"
#include "runtime/tensor_type.h"

#include <algorithm>

namespace gradus::runtime {

StatusOr<InitialValues> initialValuesOf(const Artifact &artifact) {
  const artifact::Header &header = artifact.header();
  InitialValues values;
  values.weights.resize(artifact.bytes(header.weights()).size());
  GRADUS_TRY(at(artifact.readWeights([&](uint64_t offset, auto piece) {
    std::copy(piece.begin(), piece.end(), values.weights.begin() + offset);
    return Status();
  }),
                artifact.path()));
  for (size_t i = 0; i < countOf(header.states()); ++i) {
    const artifact::State &state = *header.states()->Get(i);
    if (!state.has_initial())
      continue;
    TensorType type = typeOf(state.whole() ? state.whole() : state.type());
    auto data =
        std::span(values.weights).subspan(state.initial(), *bytesOf(type));
    values.tensors.push_back({textOf(state.name()), type, data});
  }
  return values;
}

} // namespace gradus::runtime
