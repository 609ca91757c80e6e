// Running statistics that the file gives away for parameters, as it does where
// a normalization is written as arithmetic.
#pragma once

#include "ir/gradus.h"

namespace gradus::onnx {

/// A sentence that names the parameters that stand for a mean or a variance,
/// with the line of the recipe that keeps them as they are, `fixed` included;
/// empty where there are none.
std::string trainedStatistics(ProgramOp program, GraphOp graph,
                              llvm::ArrayRef<std::string> fixed);

} // namespace gradus::onnx
