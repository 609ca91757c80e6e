// AdaSum over ranks in graphs: the values of all ranks combined as the recipe's
// `distribution.adasum` says.
#pragma once

#include "passes/distribution.h"

namespace gradus {

/// Whether ranks combine something of this kind.
bool isByAdasum(const DistributionSettings &settings, AdasumOf of);

/// Returns how ranks combine changes of weights. Those of a group have made the
/// same update, so theirs is their mean.
GroupsAttr changeGroups(mlir::MLIRContext *context,
                        const DistributionSettings &settings);

/// Returns how the ranks of a group, which make the same update where weights
/// are combined, sum what they have.
GroupsAttr sumOfGroup(mlir::MLIRContext *context,
                      const DistributionSettings &settings);

/// Whether a graph has such a combination already.
bool hasGroups(GraphOp graph, AcrossGroups across);

/// A value of each rank, the parameter that it belongs to, and where the
/// combined one goes.
struct RankValue {
  mlir::Value own;
  std::string parameter;
  mlir::OpOperand *use;
};

/// Combines values over ranks, and lets their uses have what comes out: each
/// where it is made, those that are one vector behind the last of them. The
/// block may have to be sorted then.
void combineOverRanks(llvm::ArrayRef<RankValue> values, GroupsAttr groups);

} // namespace gradus
