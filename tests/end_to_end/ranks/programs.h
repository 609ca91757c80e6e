// Small programs that ranks train together, and what they train on. For tests.
#pragma once

#include "tests/end_to_end/compiled.h"

namespace gradus {

/// The number of samples that a rank has.
inline constexpr int64_t kSamples = 4;
/// The number of classes of all programs.
inline constexpr int64_t kClasses = 10;

/// Two dense layers with a dropout between them, which a recipe takes out.
extern const char *const kDense;
/// A convolution with batch normalization before a dense layer.
extern const char *const kNormalized;
/// Attention in small ops, which the pipeline recognizes.
extern const char *const kAttending;

inline const std::string kCrossEntropy =
    "loss = {type = \"softmax_cross_entropy\"}";
/// Takes out all dropouts.
inline const std::string kKeepAll = ", dropout = 0.0";

/// Puts a number of samples and a recipe into the text of a program. Unless the
/// recipe has an optimizer, it is plain descent with momentum.
std::string filled(std::string program, int64_t samples,
                   const std::string &recipe);
/// The same of a recipe that ranks train by, with more keys of `distribution`.
std::string onRanks(const char *program, const std::string &recipe,
                    const std::string &distribution = "");

/// Inputs of @train for ranks that run it together, one behind the other along
/// the first axis: numbers in (-1, 1) and classes, others for each step.
NamedTensors batchOf(Compiled &compiled, int step, int ranks);

} // namespace gradus
