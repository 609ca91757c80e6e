// --ema: the averages of weights that the recipe's `ema` keeps, in place of the
// weights themselves.

#pragma once

#include "runtime/safetensors.h"
#include "runtime/session.h"

#include <string>

namespace gradus::cli {

/// "ema/average/w" of "w".
std::string averageName(const std::string &parameter);
/// "w" of "ema/average/w"; empty for other names.
std::string averagedName(const std::string &name);

/// The graph that evaluates the weights, or their averages.
int findEvaluation(const runtime::Session &session, bool averaged);

/// The session's parameters become their averages; before the first update
/// there are none, and they stay. A Failure where the artifact keeps none.
void takeAverages(runtime::Session &session);

/// A Failure where a file holds no averages, or those of no update yet.
void verifyAverages(const runtime::Safetensors &file, const std::string &path);

/// Names averages as their parameters, and then all as `rename` does.
runtime::Rename namedAsParameters(runtime::Rename rename);

} // namespace gradus::cli
