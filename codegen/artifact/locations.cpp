// Collects the model's node names from an op's location.

#include "codegen/artifact/locations.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <algorithm>

using namespace mlir;

std::vector<std::string> gradus::nodesAt(Location location) {
  std::vector<std::string> nodes;
  location->walk([&](Location part) {
    if (auto named = dyn_cast<NameLoc>(part))
      if (std::string name = named.getName().str();
          std::find(nodes.begin(), nodes.end(), name) == nodes.end())
        nodes.push_back(name);
    return WalkResult::advance();
  });
  return nodes;
}
