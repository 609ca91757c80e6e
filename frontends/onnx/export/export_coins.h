// Random masks, as of stochastic depth, in a file for inference.
#pragma once

#include "frontends/onnx/file/model_file.h"

namespace gradus::onnx {

/// Replaces each random mask of known probability by that probability, as in
/// `@predict` (`takeCoins` in random.h), and each AlphaDropout by its input.
/// Other random numbers stay random. Returns the number of masks to which a
/// number is added in another way, as in another form of AlphaDropout: the
/// result with their probability may differ from PyTorch's eval.
int makeCoinsIdle(ModelFile &file);

} // namespace gradus::onnx
