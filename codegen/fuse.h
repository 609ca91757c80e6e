// The steps of fusion, each on one pair of nests. They return the nest that
// takes the place of both, or null with the reason why there is none.
#pragma once

#include "codegen/nest.h"

namespace gradus {

struct FusionResult {
  plan::NestOp nest;           // null: not fused
  llvm::StringRef reason = {}; // why not
};

/// Computes `consumer`, which is elementwise, in the nest `producer` of the
/// same points, behind the producer's own results. The results that others read
/// stay. Both nests are erased. `isBetween`: whether something needs the
/// producer and feeds the consumer.
FusionResult mergeConsumer(plan::NestOp producer, plan::NestOp consumer,
                           llvm::function_ref<bool()> isBetween);

/// One nest of two over the same domain that do not need each other. Both are
/// erased.
plan::NestOp mergeSiblings(plan::NestOp first, plan::NestOp second);

/// Whether `consumer` could compute what it reads of `producer`, which is
/// elementwise, at the points where it reads it.
bool canInline(plan::NestOp consumer, plan::NestOp producer);
/// Does so; only `consumer` is erased.
plan::NestOp inlineProducer(plan::NestOp consumer, plan::NestOp producer);

/// Reads of the input of a reshape instead of its result, where the map stays
/// linear. Returns whether there were any.
bool readThroughReshape(ReshapeOp reshape);

/// The nest without results and reads that nobody needs; erases the old one
/// where something changed.
plan::NestOp dropUnused(plan::NestOp nest);

} // namespace gradus
