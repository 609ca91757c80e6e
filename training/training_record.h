// The record of a training run in a checkpoint beside the states: the order of
// the samples, the figures of the current epoch, the best test figure. With it
// a resumed run prints and decides what the uninterrupted one would have.

#pragma once

#include "runtime/session/session.h"
#include "training/metric.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gradus::training {

/// The figures of an epoch: the means of its steps, and the last of current
/// values (learning_rate, loss_scale, skipped_steps). Values of gradient_norm
/// that are not finite do not count: such steps were skipped; without any value
/// the mean is NaN.
class EpochFigures {
public:
  void add(const std::vector<Metric> &metrics);
  std::vector<Metric> figures() const;
  bool empty() const { return steps_ == 0; }
  void clear();

  nlohmann::ordered_json toJson() const;
  /// False, and nothing changes, if `json` is not of the form of toJson().
  bool restore(const nlohmann::json &json);

private:
  struct Sum {
    std::string name;
    double value = 0;
    int64_t count = 0;
  };
  std::vector<Sum> sums_;
  int64_t steps_ = 0;
};

/// The record is in a checkpoint's metadata, under "training", as JSON.
struct TrainingRecord {
  uint64_t seed = 0;                // of the samples' order
  int64_t samples = 0, batch = 0;   // of the data set
  int64_t ranks = 0;                // that have equal parts of a batch; 0: not
                                    // said
  nlohmann::json epoch, best;       // EpochFigures, BestMetric
  nlohmann::json bestAtEnd;         // BestMetric, if the test at a run's end
                                    // found a better one
  bool reported = false;            // the line of this step, an epoch's or a
                                    // test's, was printed
  double validation = 0;            // the part of the data kept for tests
  std::vector<std::string> classes; // of a folder of images, by their labels
  std::vector<std::string> passes;  // added to Gradus's own, as STAGE:PASS
  std::string plan;                 // its target, where bits depend on nothing
                                    // else; empty: not said
  nlohmann::json normalize;         // the recipe's inputs.normalize, of names;
                                    // null: not said
  nlohmann::json recipe;            // what else decides what
                                    // training does; null: not said

  /// The batch of one rank, for which the step was compiled; that of all where
  /// the number of ranks is not said.
  int64_t batchOfRank() const { return ranks ? batch / ranks : batch; }

  std::string text() const;
  /// Parses what text() writes; nothing for other text.
  static std::optional<TrainingRecord> parse(const std::string &text);
  /// Reads the record of a checkpoint; nothing if it has none, like files of
  /// other tools. Fails if it has one that text() does not write: the order of
  /// the samples is lost.
  static runtime::StatusOr<std::optional<TrainingRecord>>
  ofCheckpoint(const std::string &path);
  /// Loads the states of a checkpoint and returns its record, to go on from it
  /// (Trainer::resume). Nothing, and the states stay, if there is no such file.
  static runtime::StatusOr<std::optional<TrainingRecord>>
  loadIfThere(runtime::Session &session, const std::string &path);
};

} // namespace gradus::training
