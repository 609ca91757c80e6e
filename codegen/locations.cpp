// The model's node names that an op's location carries.

#include "codegen/locations.h"

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
