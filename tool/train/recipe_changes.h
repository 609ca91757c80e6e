// The part of the recipe that a checkpoint keeps, so that a run that resumes
// with an artifact of another recipe can report the changes.

#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace gradus::cli {

/// The keys of a recipe that decide what training does, except those that the
/// training record has itself: seed, passes, `inputs.normalize`.
nlohmann::json recipeOfRun(nlohmann::json recipe);

/// Removes the dims that are the batch, which the record also has, from two
/// recipes: those with the size of a rank's batch before, and now.
void leaveOutBatch(nlohmann::json &before, int64_t batchBefore,
                   nlohmann::json &now, int64_t batchNow);

/// Lists the changes between two such recipes: "optimizer.learning_rate 0.01,
/// now 0.5; clip null, now ..."; empty if they are equal.
std::string recipeChanges(const nlohmann::json &before,
                          const nlohmann::json &now);

} // namespace gradus::cli
