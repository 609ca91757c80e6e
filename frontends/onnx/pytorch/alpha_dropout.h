// PyTorch's AlphaDropout (Klambauer et al., "Self-Normalizing Neural Networks",
// NeurIPS 2017) as exporters write it, with a Bernoulli mask of probability q:
//
//   y = x * (mask * a) + ((mask - 1) * s + b)
//
// Replacing the mask by q does not give x, which is the result in eval.
#pragma once

#include <cmath>

namespace gradus::onnx {

/// Whether these factors keep mean 0 and variance 1 when dropped elements
/// become the limit of SELU.
inline bool isAlphaDropout(double q, double a, double s, double b) {
  auto isNear = [](double x, double y) { return std::abs(x - y) < 1e-2; };
  return isNear(s / a, 1.7580993) && isNear(b, s * (1 - q)) &&
         isNear(a * a * q * (1 + (1 - q) * (s / a) * (s / a)), 1);
}

} // namespace gradus::onnx
