// gradus-opt: runs any pass by name on a program written as text. Tests and
// pass authors use it. Passes of a plug-in join with
// --load-pass-plugin=FILE.so; see docs/add_a_pass.md.

#include "codegen/pipeline.h"
#include "frontends/recipe/program_check.h"
#include "passes/pass_plugin.h"

#include "mlir/IR/Dialect.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <vector>

using namespace mlir;

/// Returns what follows --load-pass-plugin in an argument; nothing for any
/// other argument.
static std::optional<StringRef> afterOption(StringRef argument) {
  if (!argument.consume_front("--") && !argument.consume_front("-"))
    return std::nullopt;
  if (!argument.consume_front("load-pass-plugin") ||
      !(argument.empty() || argument.starts_with("=")))
    return std::nullopt;
  return argument;
}

/// Loads the named plug-ins and leaves the other arguments. MLIR's own option
/// would continue without plug-ins that cannot be loaded.
static llvm::Error takePlugins(std::vector<char *> &arguments) {
  std::vector<char *> others;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::optional<StringRef> path = afterOption(arguments[i]);
    if (!path) {
      others.push_back(arguments[i]);
      continue;
    }
    if (!path->consume_front("=") && i + 1 < arguments.size())
      path = arguments[++i];
    if (llvm::Error error = gradus::loadPassPlugin(*path))
      return error;
  }
  arguments = others;
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  gradus::registerCompiler(registry);
  gradus::recipe::registerProgramCheck(registry);
  std::vector<char *> arguments(argv, argv + argc);
  if (llvm::Error error = takePlugins(arguments)) {
    llvm::errs() << "gradus-opt: " << llvm::toString(std::move(error)) << "\n";
    return 2;
  }
  return asMainReturnCode(MlirOptMain(arguments.size(), arguments.data(),
                                      "Gradus: passes on training graphs\n",
                                      registry));
}
