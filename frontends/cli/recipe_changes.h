// What of the recipe a checkpoint keeps, so that a run that goes on from it
// with an artifact of another one can say so.

#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace gradus::cli {

/// The keys of a recipe that decide what training does, but those that the
/// record of a training has itself: seed, passes, `inputs.normalize`.
nlohmann::json recipeOfRun(nlohmann::json recipe);

/// Takes the dims that are the batch, which the record has too, out of two
/// recipes: those that have the size of the one batch before, of the other now.
void leaveOutBatch(nlohmann::json &before, int64_t batchBefore,
                   nlohmann::json &now, int64_t batchNow);

/// "optimizer.learning_rate 0.01, now 0.5; clip null, now ..." of two such;
/// empty where they are the same.
std::string recipeChanges(const nlohmann::json &before,
                          const nlohmann::json &now);

} // namespace gradus::cli
