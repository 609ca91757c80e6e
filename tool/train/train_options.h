// The options of `gradus train`.

#pragma once

#include "tool/session/ranks.h"
#include "tool/session/session_options.h"
#include "training/checkpoints.h"

#include <optional>
#include <string>
#include <vector>

namespace gradus::cli {

struct CheckpointOptions : training::CheckpointOptions {
  bool isUnasked = false; // the path is beside the artifact, as none was given
  bool isNone = false;    // --no-checkpoint
};

struct TrainRankOptions : RankOptions {
  int64_t checkReplicas = 0; // steps between comparisons; 0: none
};

/// The name of the checkpoint in errors: its option, or that it was not given.
std::string roleOf(const CheckpointOptions &options);

/// Holds the files that no other process may write meanwhile: before the run
/// reads them, so that it continues from the newest state.
training::HeldCheckpoints holdCheckpoints(const CheckpointOptions &options,
                                          bool best);

/// Options of tests, and of what is decided by them.
struct TestOptions {
  std::vector<std::string> data;
  double validation = 0; // the part of the training data kept for tests
  std::string every;     // "500steps"; empty: each epoch
  bool averaged = false; // test the averages of the weights
  std::string best;      // METRIC[:max|:min], empty: none
  int64_t patience = 0;

  bool hasData() const { return !data.empty() || validation > 0; }
};

struct TrainOptions {
  SessionOptions session;
  TrainRankOptions ranks;
  std::vector<std::string> data;
  int64_t epochs = 0, steps = 0; // 0: not given
  TestOptions test;
  CheckpointOptions checkpoint;
  std::string log, tensorboard;   // a file, a folder
  std::string report;             // a page, or its data
  std::vector<std::string> watch; // states and nodes of the model
  std::vector<std::string> set;   // numbers of the recipe, KEY=NUMBER
  std::optional<uint64_t> seed;
  bool overwrite = false; // replace files of another run
  bool debugNonfinite = false;
};

/// Adds all options, and examples, to the command.
void addTrainOptions(CLI::App &command, TrainOptions &options);

/// The options of a rank: what is printed or written is the first one's.
TrainOptions optionsOfRank(TrainOptions options, const Ranks &ranks);

/// Without --checkpoint the state is kept beside the artifact, unless
/// --no-checkpoint is given.
void chooseCheckpoint(TrainOptions &options);

/// Outputs must be other files than inputs, and options must have what they
/// need; a mistake is a Failure.
void checkTrainOptions(const TrainOptions &options);

} // namespace gradus::cli
