// The steps of fusion, each on one pair of nests. They return the nest that
// replaces both, or null with the reason.
#pragma once

#include "codegen/plan/nest.h"

namespace gradus {

struct FusionResult {
  plan::NestOp nest;           // null: not fused
  llvm::StringRef reason = {}; // why not
};

/// Computes the elementwise `consumer` in the nest `producer` with the same
/// points, after the producer's own results. Results with other users stay.
/// Both nests are erased. `isBetween`: whether some op depends on the producer
/// and feeds the consumer.
FusionResult mergeConsumer(plan::NestOp producer, plan::NestOp consumer,
                           llvm::function_ref<bool()> isBetween);

/// Merges two nests over the same domain that do not depend on each other. Both
/// are erased.
plan::NestOp mergeSiblings(plan::NestOp first, plan::NestOp second);

/// Whether `consumer` can compute the elements that it reads of the elementwise
/// `producer` itself.
bool canInline(plan::NestOp consumer, plan::NestOp producer);
/// Whether a consumer that can inline the producer reads already what large
/// tensors the producer reads, at the same points.
bool addsNoReads(plan::NestOp consumer, plan::NestOp producer);
/// Inlines the producer; only `consumer` is erased.
plan::NestOp inlineProducer(plan::NestOp consumer, plan::NestOp producer);

/// Makes users of a reshape read its input instead if the map stays linear.
/// Returns whether any changed.
bool readThroughReshape(ReshapeOp reshape);

/// Removes unused results and inputs of the nest; erases the old nest if
/// anything changed.
plan::NestOp dropUnused(plan::NestOp nest);

} // namespace gradus
