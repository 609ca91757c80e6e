// Buckets: sums over ranks that travel together.
#pragma once

#include "passes/distribution.h"

namespace gradus {

/// A sum over ranks with its place among the ops of its block.
struct PlacedSum {
  AllReduceOp op;
  int64_t place = 0;  // where it begins
  int64_t needed = 0; // the first op that takes a result
  int64_t bytes = 0, elements = 0;
  int64_t group = 0; // of gradients that travel together; 0: of none

  bool isGradient() { return !op.getParameter(0).empty(); }
};

/// Shares each value once. Common subexpressions do not find these, as each
/// sends messages.
void shareOnce(mlir::Block &block);

using Bucket = std::vector<AllReduceOp>;

/// Cuts sums, which stand in the order of their places, into buckets as the
/// settings say. Sums stay apart where something needs a result of one before
/// the other begins, and one that has several operands is a bucket already.
std::vector<Bucket> cutBuckets(llvm::ArrayRef<PlacedSum> sums,
                               const DistributionSettings &settings);

} // namespace gradus
