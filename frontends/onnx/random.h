// ONNX ops that draw random numbers.
#pragma once

#include "frontends/onnx/building.h"
#include "frontends/onnx/operators.h"

namespace gradus::onnx {

llvm::ArrayRef<Operator> randomOperators();

/// Makes a dropout of each `u < p`, taken as a number, with u drawn from [0, 1)
/// and p a number: how exporters write Bernoulli's draws. Not where something
/// else uses the condition or u, which must see the same draw. An AlphaDropout
/// that is made of one gives its input outside training.
void takeCoins(GraphOp graph);

} // namespace gradus::onnx
