// Coins of stochastic depth and the like in a file for inference.
#pragma once

#include "frontends/onnx/model_file.h"

namespace gradus::onnx {

/// Puts its chance in the place of each coin of a known chance, as `@predict`
/// has it (`takeCoins` in random.h), and its input in that of an AlphaDropout.
/// Other random numbers are drawn as before. Returns how many coins have a
/// number added otherwise, as in another form of AlphaDropout: what their
/// chance gives need not be PyTorch's eval.
int makeCoinsIdle(ModelFile &file);

} // namespace gradus::onnx
