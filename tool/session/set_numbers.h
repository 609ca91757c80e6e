// Numbers of the recipe that are states: set by `--set`, or kept in a
// checkpoint.

#pragma once

#include "runtime/session/session.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gradus::cli {

/// The value at a path of the recipe such as `optimizer.betas[0]`; null where
/// the recipe has none.
nlohmann::json valueAt(const nlohmann::json &recipe, const std::string &path);

/// The recipe with the numbers that the session has now.
nlohmann::json withNumbersOf(const runtime::Session &session,
                             nlohmann::json recipe);

/// Sets numbers as `optimizer.learning_rate=0.05`, or those of a list as
/// `optimizer.betas=[0.9,0.95]`. A Failure names what cannot be set, and why.
void setNumbers(runtime::Session &session,
                const std::vector<std::string> &settings);

/// After a checkpoint was loaded: gives the numbers in which the artifact's
/// recipe differs from that of the checkpoint's run, `before`, the artifact's
/// values. The others keep those of the checkpoint, which may have been set.
void takeRecompiledNumbers(runtime::Session &session,
                           const nlohmann::json &before);

/// Prints a note for each number that is not what the artifact's recipe says:
/// "optimizer.learning_rate is 0.05 (0.002 in lenet.gradus)".
void noteSetNumbers(const runtime::Session &session);

} // namespace gradus::cli
