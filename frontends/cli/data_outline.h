// What one should know of data before anything is computed with it: how many
// samples, classes and batches there are, and which samples do not count.

#pragma once

#include "frontends/data/feed.h"

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

struct DataOutline {
  int64_t samples = 0;
  data::ClassCount classes; // of one label a sample; none otherwise
  int64_t batch = 0;        // samples of one
  int64_t batches = 0;      // of training: in an epoch
  int64_t leftOut = 0;      // samples (of each epoch) that fill no batch
  int64_t filledUp = 0;     // places of the last batch that do not count

  static DataOutline ofTraining(const data::Feed &feed);
  static DataOutline ofEvaluation(const data::Feed &feed);

  /// "1437 samples in 10 classes, 44 batches of 32 an epoch; 29 samples fill no
  /// batch and are left out, others in each epoch"
  std::string trainingText() const;
  std::string evaluationText() const;
  nlohmann::ordered_json toJson() const;
};

} // namespace gradus::cli
