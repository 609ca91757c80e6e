// The help texts about data that commands share, and the functions that fill
// the inputs of a session's graphs from data as the artifact's recipe says.

#pragma once

#include "runtime/session/session.h"
#include "training/feeds.h"

#include <CLI/CLI.hpp>

namespace gradus::cli {

/// The help text about data files and how they fill inputs.
extern const char *const kDataFooter;

/// Opens the files of --data or --eval; notes about them go to stderr.
data::Dataset openData(const std::vector<std::string> &arguments);

/// Numbers the labels of image folders by the folders' names as the training of
/// the checkpoint `of` did, if it has `classes`.
void countClassesAs(const std::vector<std::string> &classes,
                    const std::string &of, data::Dataset &dataset);

using training::normalizationOf;
using training::TrainingFeeds;
using training::Use;

/// Fills the inputs of a graph as the labels and the recipe's `inputs` say;
/// notes about that go to stderr.
data::Feed matchData(const runtime::Session &session, int graph,
                     const data::Dataset &dataset, Use use);

/// Adds --validation: the part of the training data that is kept for tests.
void addValidationOption(CLI::App &command, double &part, CLI::Option *eval);

/// The feeds of the graphs `train` and `evaluate`: the test set for the latter,
/// or the part `validation` of the training data `set`, chosen by `seed`; none
/// if there is neither.
TrainingFeeds matchTraining(const runtime::Session &session,
                            const data::Dataset &set, const data::Dataset &test,
                            double validation, uint64_t seed);

} // namespace gradus::cli
