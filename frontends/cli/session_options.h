// The options of every command that runs an artifact, and how it is opened.

#pragma once

#include "frontends/cli/output_files.h"
#include "frontends/data/feed.h"
#include "runtime/session.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <limits>
#include <string>

namespace gradus::cli {

struct SessionOptions {
  std::string artifact;
  int threads = 0;
  std::string device = "cpu";
  bool trust = false;
  bool verbose = false;
  std::string init, resume;
  std::vector<std::string> initMap; // FROM=TO
  bool averaged = false;            // --ema
  bool json = false;
};

/// ARTIFACT, --threads, --device, --trust, --verbose, --json.
void addSessionOptions(CLI::App &command, SessionOptions &options);
/// What is asked for, at most one per core; a warning says where that is fewer.
/// More threads than cores give no result sooner.
int threadsToUse(int asked, int cores);

/// --init, --init-map and --resume: where the state comes from.
void addStateOptions(CLI::App &command, SessionOptions &options);

/// All of these, --checkpoint, --init, --init-map and --ema in their stead, and
/// --data: of the commands that use a trained state.
void addTrainedOptions(CLI::App &command, SessionOptions &options,
                       std::vector<std::string> &data);
/// For an option that takes an integer, written in decimal digits alone.
CLI::Validator wholeNumber(uint64_t least,
                           uint64_t most = std::numeric_limits<int64_t>::max());
/// For an option that counts something: 1 or more.
CLI::Validator positive();
/// For an option that measures something: 0 or more.
CLI::Validator notNegative();

/// The artifact, --init and the files of --init-map: what a command reads
/// before it starts.
std::vector<UsedFile> initialFiles(const SessionOptions &options);

/// Loads the artifact and then the state that the options name.
std::unique_ptr<runtime::Session> openSession(const SessionOptions &options);

/// The file that the state comes from; empty: none.
const std::string &trainedFile(const SessionOptions &options);

/// Says on stderr that nothing was trained, where no state was named.
void noteInitialState(const SessionOptions &options);

/// The number of a graph; a failure lists those there are.
int findGraph(const runtime::Session &session, const std::string &name);
/// The recipe that the artifact was compiled with; an empty object if none.
nlohmann::json recipeOf(const runtime::Session &session);
/// Steps whose gradients make one update (`accumulation`); 1 where a recipe,
/// which a file may bring from anybody, says no such number.
int64_t stepsPerUpdate(const nlohmann::json &recipe);
/// What labels may be, as artifact and recipe say.
data::LabelRules labelRules(const runtime::Session &session);
/// Whether the loss is a sum over samples rather than a mean.
bool lossIsTotal(const runtime::Session &session);

} // namespace gradus::cli
