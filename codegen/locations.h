// The model's node names that an op's location carries.
#pragma once

#include "mlir/IR/Location.h"

#include <string>
#include <vector>

namespace gradus {

/// The names in a location, fused ones too, each once, in order.
std::vector<std::string> nodesAt(mlir::Location location);

} // namespace gradus
