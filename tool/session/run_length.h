// The length of a run, for schedules in epochs and fractions of it.
#pragma once

#include "training/artifact_recipe.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gradus::cli {

using training::runLengthOf;

/// Gives a session the length of a run that starts or goes on. Returns a
/// warning for each number of its checkpoint that tells of another length,
/// but those that `set` names: the schedule goes on as it began.
std::vector<std::string> startRun(runtime::Session &session,
                                  const runtime::RunLength &length,
                                  const std::vector<std::string> &set);

/// The same for a command that runs steps of no training, with a note. Returns
/// whether there was something to assume.
bool assumeRunLength(runtime::Session &session);

/// Returns where the pieces of schedules end that follow from the run's length,
/// such as "learning_rate: linear_warmup to step 500, cosine to step 10000";
/// empty where there are none. The recipe has the numbers of its session.
std::string resolvedSchedules(const nlohmann::json &recipe);

/// Returns the lengths of pieces that follow one another, in updates; 0 for one
/// that never ends. `schedule` is the recipe's, with its session's numbers.
std::vector<double> pieceLengths(const nlohmann::json &schedule,
                                 const nlohmann::json &pieces);

/// A number of a recipe's object; `otherwise` if it is null or missing.
double numberOf(const nlohmann::json &object, const char *key,
                double otherwise);

/// Returns the updates that count as one in a piece.
double unitOf(const nlohmann::json &schedule, const nlohmann::json &piece);

} // namespace gradus::cli
