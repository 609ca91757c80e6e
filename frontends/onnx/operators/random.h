// ONNX ops that draw random numbers.
#pragma once

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/operators.h"

namespace gradus::onnx {

llvm::ArrayRef<Operator> randomOperators();

/// Turns each `u < p`, cast to a number, into a dropout, where u is uniform in
/// [0, 1) and p a constant: exporters write Bernoulli masks so. Conditions and
/// u with other uses, which must see the same draw, are left. An AlphaDropout
/// with such a mask returns its input outside training.
void takeCoins(GraphOp graph);

} // namespace gradus::onnx
