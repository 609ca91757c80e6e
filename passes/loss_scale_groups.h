// Groups of parameters, each with a dynamic loss scale of its own.
//
// A value of the forward pass has a level, the highest group among the
// parameters behind it, and its gradient is the true one times its level's
// scale. So the gradient changes its scale at a border, where a value is used
// by what has a higher level (passes/gradients/loss_scale_borders.cpp).
#pragma once

#include "ir/arithmetic.h"
#include "passes/loss_scale.h"
#include "recipe/patterns.h"

#include <optional>

namespace gradus {

/// An attribute of the ratio of two groups' scales, by which gradients change
/// theirs at a border: the lower group's index and the higher one's.
constexpr llvm::StringLiteral kBorder = "gradus.border";

class ScaleGroups {
public:
  /// Returns nothing where the recipe has no loss scale of groups.
  static std::optional<ScaleGroups> of(ProgramOp program);

  size_t size() const { return patterns_.size(); }
  const LossScaleSettings &settings() const { return settings_; }

  /// The index of the first group that names a parameter; nothing if none does.
  std::optional<size_t> groupOf(llvm::StringRef parameter) const;

  /// Reports what is wrong with the recipe's `loss_scale` for a model of which
  /// these parameters are trained: patterns without a parameter, parameters in
  /// no group or in two, numbers that contradict each other.
  mlir::LogicalResult verify(llvm::ArrayRef<StateOp> trained) const;

  /// Reports that a trained parameter is in no group.
  mlir::LogicalResult reportMissing(llvm::StringRef parameter) const;

  /// A group's scale, a scalar of f32, whose state is added. Null with an error
  /// where the model has a state of that name.
  mlir::Value read(mlir::OpBuilder &builder, mlir::Location loc,
                   size_t group) const;

  /// The scale behind a step: larger where no overflow began in the group, else
  /// smaller.
  mlir::Value next(const Arithmetic &math, mlir::Value scale,
                   mlir::Value without) const;

private:
  ScaleGroups(ProgramOp program, LossScaleSettings settings);

  mlir::LogicalResult verifyNumbers() const;
  mlir::LogicalResult verifyPatterns() const;
  mlir::LogicalResult verifyMembers(llvm::ArrayRef<StateOp> trained) const;

  ProgramOp program_;
  LossScaleSettings settings_;
  std::vector<NamePatterns> patterns_;
};

/// The name of a group's scale, of a state and of an output: "loss_scale/0".
std::string groupScaleName(size_t group);

} // namespace gradus
