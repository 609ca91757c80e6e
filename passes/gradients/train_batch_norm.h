// Settings of batch normalization in training: the recipe's
// `freeze_batch_norm` and `batch_norm_variance`.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct BatchNormSettings {
  enum class Variance { pytorch, onnx };

  bool isFrozen = false;  // use running statistics, don't update them
  Variance variance = {}; // of running statistics: over N - 1, or N
};

const recipe::Keys<BatchNormSettings> &batchNormKeys();

} // namespace gradus
