// Distribution: the recipe's `distribution`, and the numbers that tell a step
// which rank it runs on.
#pragma once

#include "ir/arithmetic.h"
#include "passes/state.h"
#include "recipe/settings.h"

#include <optional>
#include <vector>

namespace gradus {

/// The way in which ranks share the work.
enum class DistributionMode {
  none,         // one process
  dataParallel, // each rank has its own samples and all of the model
};

/// The count that a mean over samples divides by.
enum class LossMean {
  global, // the samples, or labels, that count on all ranks
  rank,   // those of the rank; then the mean over ranks
};

/// The samples that statistics of a batch normalization are of.
enum class BatchNormRanks {
  average,      // the rank's; running statistics become the mean over ranks
  local,        // the rank's; rank 0's running statistics are kept
  synchronized, // those of all ranks
};

/// Gradients are combined by such a rule, and travel in such a type.
enum class ReduceType {
  plain, // summed as they are
  half,  // summed in f16
  bf16,
  adasum,          // by AdaSum, in f32 or f64
  local,           // not: ranks meet after some updates
  partial,         // not: in each update ranks meet in a part of the parameters
  sparseTopk,      // as sums of the largest elements of each rank's
  sparseThreshold, // of those that reach a threshold
};

/// The optimizer of the weights with which ranks go on when they meet: plain
/// descent along the way from where they met last to their mean.
struct OuterSettings {
  double learningRate = 1, momentum = 0;
  bool nesterov = false;
};

/// The most parts of `partial`, each of which is a variant of the step, which
/// is compiled.
constexpr int64_t kMostParts = 256;

/// Ranks that train on their own.
struct LocalSettings {
  int64_t every = 1; // of `local`: updates from one meeting to the next
  OuterSettings outer;
  std::optional<int64_t> parts; // of `partial`; nothing: as it finds right
};

/// The tensors that AdaSum combines.
enum class AdasumOf {
  gradients,
  weights, // what an update has changed
};

/// The vectors that AdaSum is of.
enum class AdasumPer {
  tensor, // each tensor is one
  model,  // all of them are one
};

struct AdasumSettings {
  AdasumOf of = AdasumOf::gradients;
  int64_t within = 1; // ranks that make a mean first; 0: those of a host
  AdasumPer per = AdasumPer::tensor;
  double epsilon = 0; // added by each group to a dot product
};

/// Other rules for what travels together than a number of bytes.
struct BucketRules {
  std::optional<int64_t> elements;            // SINGA's
  std::optional<std::vector<int64_t>> splits; // MindSpore's
};

/// Sums of a part of the elements.
struct SparseSettings {
  std::optional<double> ratio;             // of sparseTopk
  std::optional<recipe::Number> threshold; // of sparseThreshold
  double capacity = 0;       // the part that a message of it has room for
  bool errorFeedback = true; // What is not sent is added to the next gradient.
  bool momentumCorrection = false; // each rank adds up momentum before it
  int64_t warmup = 0;              // first updates by whole sums
};

/// The changes of a rank's own gradient before it is sent.
struct OwnSettings {
  std::optional<recipe::Number> halfScale; // nothing: the loss scale, or 1
  std::optional<recipe::Number> clip;      // nothing: no bound
};

struct DistributionSettings {
  DistributionMode mode = DistributionMode::none;
  std::optional<int64_t> logicalRanks; // nothing: as many as processes
  std::optional<int64_t> ranks;        // nothing: any number
  bool mean = true;
  LossMean lossMean = LossMean::global;
  BatchNormRanks batchNorm = BatchNormRanks::average;
  ReduceType reduce = ReduceType::plain;
  LocalSettings local;   // of `local` and `partial`
  AdasumSettings adasum; // of `adasum`
  SparseSettings sparse; // of both kinds of sparse sums
  OwnSettings own;
  double bucketBytes = 0;
  BucketRules cuts;
  int64_t inFlight = 0; // buckets that may travel while another is awaited
  int64_t zero = 0; // 1: updates are shared out (passes/update/shard_update)

  bool isSparse() const {
    return mode == DistributionMode::dataParallel &&
           (reduce == ReduceType::sparseTopk ||
            reduce == ReduceType::sparseThreshold);
  }
  /// Whether each rank updates its own weights by its own gradients, until
  /// ranks meet.
  bool hasOwnWeights() const {
    return reduce == ReduceType::local || reduce == ReduceType::partial;
  }
};

/// The `parts` with which `partial` is `plain`: nothing is left that ranks
/// would have of their own.
constexpr int64_t kPlainParts = 1;

/// The key `distribution`, and its value in a program's recipe, where `partial`
/// with kPlainParts is `plain`.
const recipe::Field &distributionKey();
DistributionSettings distributionOf(ProgramOp program);

inline bool isDataParallel(ProgramOp program) {
  return distributionOf(program).mode == DistributionMode::dataParallel;
}

/// The number of ranks, or the own one from 0 on, as a scalar of i64: a state
/// of the role `place`, which a session sets when it is loaded. A number of
/// ranks that the recipe says, and that of logical ranks, is a constant. Null
/// with an error where the model has a state of that name.
mlir::Value readRanks(mlir::OpBuilder &builder, mlir::Location loc,
                      ProgramOp program);
mlir::Value readRank(mlir::OpBuilder &builder, mlir::Location loc,
                     ProgramOp program);

/// Marks updates whose gradient is that of all ranks already, as a pass before
/// data_parallel has shared it in its own way.
constexpr llvm::StringLiteral kIsOfAllRanks = "gradus.of_all_ranks";

/// Puts a rank's own tensor into the row of its number in zeros of [ranks,
/// ...], as the sum of which, or a gather, all ranks get those of all.
mlir::Value rowOfRank(const Arithmetic &math, mlir::Value own, int64_t ranks,
                      mlir::Value rank);

/// The vectors of all ranks, of which `own` is that of this one, in rows. A row
/// is whole lines of 64 bytes, which end in zeros where a vector does not fill
/// them. `gatheredBytes` are those of a row.
mlir::Value gatherOverRanks(const Arithmetic &math, mlir::Value own,
                            int64_t ranks, mlir::Value rank);
int64_t gatheredBytes(mlir::RankedTensorType own);

/// The sum of a value over the ranks; `parameter` is the one whose gradient it
/// is.
mlir::Value sumOverRanks(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, llvm::StringRef parameter = "");
/// Whether an op gives all ranks the same: a sum or another combination of what
/// they have, and none along another axis.
bool isOverRanks(mlir::Operation *op);
/// The mean over the ranks, whose number is the i64 scalar `ranks`.
mlir::Value meanOverRanks(const Arithmetic &math, mlir::Value value,
                          mlir::Value ranks);
/// The number of ranks in every element of a tensor of floats like another.
mlir::Value ranksLike(const Arithmetic &math, mlir::Value ranks,
                      mlir::Value like);

} // namespace gradus
