// What every command says about its data in help, and how the inputs of a
// session's graphs are filled from it as the artifact's recipe says.

#pragma once

#include "frontends/data/batches.h"
#include "runtime/session.h"

#include <CLI/CLI.hpp>

#include <optional>

namespace gradus::cli {

/// Which files there are, and how they come to inputs.
extern const char *const kDataFooter;

/// Opens the files of --data or --eval; what one should know of them goes to
/// stderr.
data::Dataset openData(const std::vector<std::string> &arguments);

/// Labels of folders count the classes of the training that the checkpoint `of`
/// is of, by the folders' names, where it knows them.
void countClassesOf(const std::string &of, data::Dataset &dataset);

/// What a graph is run for; only training augments.
enum class Use { training, evaluation, prediction };

/// The recipe's `inputs.normalize`, by the name of the input.
nlohmann::json normalizationOf(const runtime::Session &session);

/// Fills the inputs of a graph as labels and recipe (`inputs`) say.
data::Feed matchData(const runtime::Session &session, int graph,
                     const data::Dataset &dataset, Use use);

/// What is trained on, and what is tested on if anything.
struct TrainingFeeds {
  data::Feed train;
  std::optional<data::Feed> test;
};

/// --validation: the part of the training data that is kept for tests.
void addValidationOption(CLI::App &command, double &part, CLI::Option *eval);

/// The feeds of the graphs `train` and `evaluate`: the test set for the latter,
/// or the part `validation` of the training data, chosen by `seed`; none if
/// there is neither.
TrainingFeeds matchTraining(const runtime::Session &session,
                            const data::Dataset &training,
                            const data::Dataset &test, double validation,
                            uint64_t seed);

} // namespace gradus::cli
