// Plug-ins of passes and the recipe's keys; see plugins.h.

#include "frontends/recipe/plugins.h"

#include "frontends/recipe/fields.h"
#include "passes/pass_plugin.h"

namespace gradus::recipe {

llvm::Error loadPlugin(llvm::StringRef path) {
  llvm::SmallVector<llvm::StringRef> own;
  for (const Field &field : recipeField().fields)
    own.push_back(field.key);
  return loadPassPlugin(path, own);
}

} // namespace gradus::recipe
