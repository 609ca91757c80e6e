// Finds the model's node names in an op's location.
#pragma once

#include "mlir/IR/Location.h"

#include <string>
#include <vector>

namespace gradus {

/// The names in a location, also in fused ones, without duplicates, in order.
std::vector<std::string> nodesAt(mlir::Location location);

} // namespace gradus
