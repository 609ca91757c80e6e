// The recipe in an artifact, as far as training and evaluation ask it.

#pragma once

#include "runtime/session/run_length.h"
#include "runtime/session/session.h"
#include "training/artifact_outline.h"

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::training {

/// The number of a graph; an error lists those that there are.
runtime::StatusOr<int> graphOf(const runtime::Session &session,
                               const std::string &name);

/// The recipe that the artifact was compiled with; an empty object if there is
/// none.
nlohmann::json recipeOf(const runtime::Session &session);
/// The steps whose gradients make one update (`accumulation`); 1 if a recipe,
/// which may come from an untrusted file, has no such number.
int64_t stepsPerUpdate(const nlohmann::json &recipe);
/// The updates that each rank makes of its own samples before all meet
/// (`distribution.every`); 0 where ranks share each update.
int64_t updatesPerMeeting(const nlohmann::json &recipe);
/// Whether ranks never meet with all of their parameters, which the artifact
/// says are their own, as with `distribution.reduce` `partial`.
bool ranksKeepOwn(const runtime::Session &session);
/// The length of a run of `steps` steps, `perEpoch` of them an epoch, under a
/// recipe.
runtime::RunLength runLengthOf(const nlohmann::json &recipe, int64_t steps,
                               int64_t perEpoch);
/// Describes the session's artifact, which decides how data reach its graphs.
ArtifactOutline outlineOf(const runtime::Session &session);
/// The same as of its outline.
data::LabelRules labelRules(const runtime::Session &session);
bool lossIsTotal(const runtime::Session &session);

} // namespace gradus::training
