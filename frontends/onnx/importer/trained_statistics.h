// Finds running statistics that a file declares as parameters, as it does if a
// normalization is written as arithmetic.
#pragma once

#include "ir/gradus.h"

namespace gradus::onnx {

/// Returns a sentence that names the parameters that are a mean or a variance,
/// with the recipe's line that keeps them unchanged, including `fixed`; empty
/// if there are none.
std::string trainedStatistics(ProgramOp program, GraphOp graph,
                              llvm::ArrayRef<std::string> fixed);

} // namespace gradus::onnx
