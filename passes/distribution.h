// Distribution: the recipe's `distribution`, and the numbers that tell a step
// which rank it runs on.
#pragma once

#include "passes/state.h"
#include "recipe/settings.h"

#include <optional>
#include <vector>

namespace gradus {

/// How the ranks share the work.
enum class DistributionMode {
  none,         // one process
  dataParallel, // each rank has its own samples and all of the model
};

/// What a mean over samples divides by.
enum class LossMean {
  global, // the samples, or labels, that count on all ranks
  rank,   // those of the rank; then the mean over ranks
};

/// Whose samples the statistics of a batch normalization are of.
enum class BatchNormRanks {
  average,      // the rank's; running statistics become the mean over ranks
  local,        // the rank's; rank 0's running statistics are kept
  synchronized, // those of all ranks
};

struct DistributionSettings {
  std::optional<std::vector<int64_t>> gradientSplits;
  DistributionMode mode = DistributionMode::none;
  bool mean = true;
  LossMean lossMean = LossMean::global;
  BatchNormRanks batchNorm = BatchNormRanks::average;
  double bucketBytes = 0;
};

/// The key `distribution`, and its value in a program's recipe.
const recipe::Field &distributionKey();
DistributionSettings distributionOf(ProgramOp program);

inline bool isDataParallel(ProgramOp program) {
  return distributionOf(program).mode == DistributionMode::dataParallel;
}

/// The number of ranks, or the own one from 0 on, as a scalar of i64: a state
/// of the role `place`, which a session sets when it is loaded. Null with an
/// error where the model has a state of that name.
mlir::Value readRanks(mlir::OpBuilder &builder, mlir::Location loc,
                      ProgramOp program);
mlir::Value readRank(mlir::OpBuilder &builder, mlir::Location loc,
                     ProgramOp program);

/// The sum of a value over the ranks.
mlir::Value sumOverRanks(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value);

} // namespace gradus
