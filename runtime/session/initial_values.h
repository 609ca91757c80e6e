// The initial values that an artifact carries, by the names of its states.

#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/safetensors.h"

#include <vector>

namespace gradus::runtime {

struct InitialValues {
  std::vector<uint8_t> weights;     // what the tensors' data are in
  std::vector<NamedTensor> tensors; // of states that do not begin with a fill
};

/// Reads them, checked as Artifact::readWeights() does.
StatusOr<InitialValues> initialValuesOf(const Artifact &artifact);

} // namespace gradus::runtime
