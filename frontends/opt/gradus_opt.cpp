// gradus-opt: runs any pass by name on a program written as text. Tests and
// pass authors use it. Passes of a plug-in join with
// --load-pass-plugin=FILE.so; see docs/add_a_pass.md. --set and the flags of
// the recipe's keys change the program's recipe before the first pass.

#include "codegen/pipeline.h"
#include "frontends/recipe/key_arguments.h"
#include "frontends/recipe/plugins.h"
#include "frontends/recipe/program_check.h"
#include "frontends/recipe/program_settings.h"

#include "mlir/IR/Dialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <vector>

using namespace mlir;
using gradus::recipe::KeyArguments;

namespace {

constexpr const char *kOverview = "Gradus: passes on training graphs\n";

struct SetKeys : PassWrapper<SetKeys, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SetKeys)

  explicit SetKeys(KeyArguments &keys) : keys(&keys) {}
  StringRef getName() const override { return "SetKeys"; }

  void runOnOperation() override {
    WalkResult walked = getOperation()->walk([&](gradus::ProgramOp program) {
      if (!keys->settings.empty() &&
          failed(gradus::recipe::applySettings(program, keys->settings)))
        return WalkResult::interrupt();
      keys->see(program);
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }

  KeyArguments *keys;
};

/// Returns what follows --load-pass-plugin in an argument; nothing for any
/// other argument.
std::optional<StringRef> afterOption(StringRef argument) {
  if (!argument.consume_front("--") && !argument.consume_front("-"))
    return std::nullopt;
  if (!argument.consume_front("load-pass-plugin") ||
      !(argument.empty() || argument.starts_with("=")))
    return std::nullopt;
  return argument;
}

/// Loads the named plug-ins and leaves the other arguments. MLIR's own option
/// would continue without plug-ins that cannot be loaded.
llvm::Error takePlugins(std::vector<char *> &arguments) {
  std::vector<char *> others;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::optional<StringRef> path = afterOption(arguments[i]);
    if (!path) {
      others.push_back(arguments[i]);
      continue;
    }
    if (!path->consume_front("=") && i + 1 < arguments.size())
      path = arguments[++i];
    if (llvm::Error error = gradus::recipe::loadPlugin(*path))
      return error;
  }
  arguments = others;
  return llvm::Error::success();
}

int fail(const Twine &words) {
  llvm::errs() << "gradus-opt: " << words << "\n";
  return 2;
}

/// Runs MlirOptMain with a first pass that sets keys.
int runWithKeys(KeyArguments &keys, DialectRegistry &registry) {
  int count = keys.others.size();
  char **words = keys.others.data();
  llvm::InitLLVM atExit(count, words);
  auto [input, output] =
      registerAndParseCLIOptions(count, words, kOverview, registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  MlirOptMainConfig chosen = config;
  config.setPassPipelineSetupFn([&](PassManager &manager) {
    manager.addPass(std::make_unique<SetKeys>(keys));
    return chosen.setupPassPipeline(manager);
  });
  std::string problem;
  auto text = openInputFile(input, &problem);
  auto printed = text ? openOutputFile(output, &problem) : nullptr;
  if (!printed)
    return fail(problem);
  LogicalResult done =
      MlirOptMain(printed->os(), std::move(text), registry, config);
  llvm::errs() << keys.offPasses();
  if (failed(done))
    return EXIT_FAILURE;
  printed->keep();
  return EXIT_SUCCESS;
}

} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  gradus::registerCompiler(registry);
  gradus::recipe::registerProgramCheck(registry);
  std::vector<char *> arguments(argv, argv + argc);
  if (llvm::Error error = takePlugins(arguments))
    return fail(llvm::toString(std::move(error)));
  KeyArguments keys(arguments);
  if (!keys.problem.empty())
    return fail(keys.problem);
  const std::string help = KeyArguments::help();
  llvm::cl::extrahelp more(help);
  if (!keys.settings.empty() || keys.hasMethods())
    return runWithKeys(keys, registry);
  return asMainReturnCode(
      MlirOptMain(keys.others.size(), keys.others.data(), kOverview, registry));
}
