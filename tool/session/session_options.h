// The options that all commands that run artifacts share, and the functions
// that open an artifact with them.

#pragma once

#include "runtime/session/session.h"
#include "tool/output_files.h"
#include "training/artifact_recipe.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

struct SessionOptions {
  std::string artifact;
  int threads = 0;
  int dataThreads = 0; // 0: as many as cores
  std::string device = "cpu";
  bool trust = false;
  bool verbose = false;
  std::string init, resume;
  std::vector<std::string> initMap; // FROM=TO
  bool averaged = false;            // --ema
  bool json = false;
  bool onAnyRanks = false; // see runtime::SessionOptions
};

/// Adds ARTIFACT, --threads, --device, --trust, --verbose, --json.
void addSessionOptions(CLI::App &command, SessionOptions &options);
/// Adds --data-threads.
void addDataThreads(CLI::App &command, SessionOptions &options);
/// The number of threads that `option` asks for, at most one per core; a
/// warning says if that is fewer. More threads than cores are not faster.
int threadsToUse(const std::string &option, int asked, int cores);
/// The number of threads that prepare data.
int dataThreads(const SessionOptions &options);

/// Adds --init, --init-map and --resume: the initial state.
void addStateOptions(CLI::App &command, SessionOptions &options);

/// Adds all of these for commands that use a trained state: --checkpoint,
/// --init, --init-map, --ema, --data, and --data-threads.
void addTrainedOptions(CLI::App &command, SessionOptions &options,
                       std::vector<std::string> &data);
/// The files that a command reads before it starts: the artifact, --init and
/// the files of --init-map.
std::vector<UsedFile> initialFiles(const SessionOptions &options);

/// Loads the artifact and then the state that the options name. `ranks` runs it
/// together; null: the process is alone.
std::unique_ptr<runtime::Session>
openSession(const SessionOptions &options,
            std::shared_ptr<runtime::Collectives> ranks = nullptr);

/// The file of the state; empty if there is none.
const std::string &trainedFile(const SessionOptions &options);

/// Notes on stderr that nothing was trained if no state was named.
void noteInitialState(const SessionOptions &options);

/// The number of a graph; a Failure lists the existing ones.
int findGraph(const runtime::Session &session, const std::string &name);
/// The calls of a graph that make one step: of `train` the session's turns.
int64_t callsPerStep(const runtime::Session &session, int graph);
using training::labelRules;
using training::recipeOf;
using training::stepsPerUpdate;

} // namespace gradus::cli
