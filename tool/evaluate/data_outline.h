// The facts about data that are shown before anything is computed: numbers of
// samples, classes and batches, and the samples that do not count.

#pragma once

#include "training/data/feed.h"

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// The ranks that share a batch: processes, or logical ranks, whichever
/// processes compute them.
struct BatchRanks {
  int64_t count = 1;
  bool areLogical = false;
};

struct DataOutline {
  int64_t samples = 0;
  data::ClassCount classes; // if there is one label a sample
  int64_t batch = 0;        // samples of a batch, of all ranks together
  BatchRanks ranks;         // that share each batch
  int64_t batches = 0;      // for training, of an epoch
  int64_t leftOut = 0;      // samples (of each epoch) that fill no batch
  int64_t filledUp = 0;     // padding of the last batch

  static DataOutline ofTraining(const data::Feed &feed,
                                const BatchRanks &ranks = {});
  static DataOutline ofEvaluation(const data::Feed &feed);

  /// The facts in words: "1437 samples in 10 classes, 44 batches of 32 an
  /// epoch; 29 samples fill no batch and are left out, others in each epoch".
  std::string trainingText() const;
  std::string evaluationText() const;
  nlohmann::ordered_json toJson() const;
};

} // namespace gradus::cli
