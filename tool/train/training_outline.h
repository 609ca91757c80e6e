// The facts that training prints before its first step: its data, its length,
// where the state is kept, and which parts of the recipe do not fit that.

#pragma once

#include "tool/evaluate/data_outline.h"
#include "tool/train/train_options.h"

#include <optional>
#include <string>
#include <vector>

namespace gradus::cli {

struct TrainingOutline {
  DataOutline data;
  std::optional<DataOutline> test;
  int64_t start = 0, total = 0;     // steps
  int processes = 1;                // that run the steps
  std::string ranks;                // of them, for people; empty: one process
  std::string schedule;             // where its pieces end; empty: as compiled
  std::vector<std::string> remarks; // on the files of the data

  /// Prints a table for people, or a JSON line.
  void print(const TrainOptions &options) const;
};

} // namespace gradus::cli
