// --ema: uses the averages of weights that the recipe's `ema` keeps instead of
// the weights.

#pragma once

#include "runtime/safetensors.h"
#include "runtime/session/session.h"

#include <string>
#include <vector>

namespace gradus::cli {

/// Returns "ema/average/w" for "w".
std::string averageName(const std::string &parameter);
/// Returns "w" for "ema/average/w", and empty for other names.
std::string averagedName(const std::string &name);

/// Returns "w" for the names of the copies of "w" that follow it from update to
/// update: its average, and the slow weights of the recipe's `lookahead`. Empty
/// for other names.
std::string copiedName(const std::string &name);

/// Whether all numbers of a tensor are 0: copies are, before the first update.
bool isZero(const runtime::NamedTensor &tensor);

/// The graph that evaluates the weights, or their averages.
int findEvaluation(const runtime::Session &session, bool averaged);

/// The numbers of the states of each rank's own that evaluating the weights, or
/// their averages, may read: parameters and buffers, and the averages.
std::vector<int> ownEvaluated(const runtime::Session &session, bool averaged);

/// Copies the averages to the session's parameters; before the first update
/// there are none, and the parameters stay. Throws a Failure if the artifact
/// keeps none.
void takeAverages(runtime::Session &session);

/// Throws a Failure if a file holds no averages, or only those before the first
/// update.
void verifyAverages(const runtime::Safetensors &file, const std::string &path);

/// Names averages like their parameters, and then all tensors as `rename` does.
runtime::Rename namedAsParameters(runtime::Rename rename);

} // namespace gradus::cli
