// Plug-ins of passes, whose keys join the recipe's under `plugins`.

#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace gradus::recipe {

/// Loads a plug-in; no key of it has the name of one of the recipe's own, which
/// may have a flag of that name. Exported by libgradus_compiler.so.
__attribute__((visibility("default"))) llvm::Error
loadPlugin(llvm::StringRef path);

} // namespace gradus::recipe
