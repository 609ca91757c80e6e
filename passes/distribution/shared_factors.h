// Factors that all ranks share, as parts of what ranks sum.
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// Moves factors that are known only after a sum over ranks out of the other
/// sums of a graph, which have one operand each: the sum of products with what
/// all ranks share is the product with the sum. What a rank sends then follows
/// from its own samples alone, as far as it can.
void moveSharedFactorsOut(ProgramOp program, GraphOp graph);

} // namespace gradus
