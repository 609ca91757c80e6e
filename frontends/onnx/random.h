// ONNX ops that draw random numbers.
#pragma once

#include "frontends/onnx/building.h"
#include "frontends/onnx/operators.h"

namespace gradus::onnx {

llvm::ArrayRef<Operator> randomOperators();

/// The chance of a condition `u < p` with u drawn from [0, 1) and p a number:
/// how exporters write Bernoulli's draws. Nothing for other conditions.
std::optional<double> chanceOf(mlir::Value condition);

/// 1 with this chance, else 0, as a dropout of ones: outside training, where
/// nothing drops, the chance itself.
mlir::Value coins(const Building &b, mlir::RankedTensorType type,
                  double chance);

} // namespace gradus::onnx
