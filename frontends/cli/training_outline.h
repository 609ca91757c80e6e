// What training says before its first step: what it learns from, how long it
// runs, where the state is kept, and what of the recipe does not fit that.

#pragma once

#include "frontends/cli/data_outline.h"
#include "frontends/cli/train_options.h"

#include <optional>
#include <string>
#include <vector>

namespace gradus::cli {

struct TrainingOutline {
  DataOutline data;
  std::optional<DataOutline> test;
  int64_t start = 0, total = 0;     // steps
  std::vector<std::string> remarks; // on the files of the data

  /// A table for people, or a JSON line.
  void print(const TrainOptions &options) const;
};

} // namespace gradus::cli
