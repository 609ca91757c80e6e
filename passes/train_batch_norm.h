// Settings of batch normalization in training: the recipe's
// `freeze_batch_norm` and `batch_norm_variance`.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct BatchNormSettings {
  enum class Variance { pytorch, onnx };

  bool isFrozen = false;  // running statistics are used and left alone
  Variance variance = {}; // the running one: divided by N - 1, or by N
};

const recipe::Keys<BatchNormSettings> &batchNormKeys();

} // namespace gradus
