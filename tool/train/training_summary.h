// The facts that training prints at its end.

#pragma once

#include "tool/evaluate/metrics_text.h"
#include "tool/train/train_options.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gradus::cli {

struct TrainingSummary {
  int64_t start = 0, done = 0, total = 0; // steps
  std::vector<Metric> test;
  int64_t trainingSamples = 0, testSamples = 0;
  std::string best;          // "accuracy 0.9722 of step 440"; empty: none asked
  bool stoppedEarly = false; // --patience
  double stepSeconds = 0;    // in steps
  double seconds = 0;        // in all
  uint64_t measuredBytes = 0; // of this process
  int ranks = 1;

  nlohmann::ordered_json toJson(const TrainOptions &options,
                                const runtime::Session &session) const;
  /// Prints a table for people, or a JSON line.
  void print(const TrainOptions &options,
             const runtime::Session &session) const;
};

/// Whether planned bytes are memory of the host, which measured bytes always
/// are.
bool runsOnHost(const runtime::Session &session);

} // namespace gradus::cli
