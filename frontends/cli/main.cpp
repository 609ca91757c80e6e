// gradus: compiles training steps and runs them. This file only finds the
// command; each command is a file of its own.

#include "frontends/cli/commands.h"
#include "frontends/cli/failure.h"

#include <cstdio>
#include <exception>

using namespace gradus::cli;

static const char *kExamples = R"(Examples:
  gradus compile lenet.onnx --recipe recipe.json -o lenet.gradus
  gradus train lenet.gradus --data train.safetensors --eval test.safetensors \
      --epochs 20 --checkpoint lenet.safetensors
  gradus evaluate lenet.gradus --checkpoint lenet.safetensors --data test.safetensors
  gradus predict lenet.gradus --checkpoint lenet.safetensors --data new.npz -o out.npz

Exit codes: 0 done, 1 failed while running, 2 usage or input, 130 interrupted.
`gradus COMMAND --help` says more, with examples.)";

/// `--checkpoint "$UNSET"` is a mistake, not an option that was left out.
static void refuseEmptyValues(CLI::App &app) {
  for (CLI::App *command : app.get_subcommands([](CLI::App *) { return true; }))
    for (CLI::Option *option : command->get_options())
      if (option->get_items_expected_max() > 0)
        option->check([](const std::string &value) -> std::string {
          return value.empty() ? "expected a value, found an empty text" : "";
        });
}

static void addCommands(CLI::App &app) {
  app.set_version_flag("--version", std::string("gradus ") + GRADUS_VERSION);
  app.require_subcommand(1);
  app.footer(kExamples);
  addCompile(app);
  addTrain(app);
  addEvaluate(app);
  addPredict(app);
  addRun(app);
  addInspect(app);
  addCheck(app);
  addVerify(app);
  addExport(app);
  addBench(app);
  addDoctor(app);
  addRecipe(app);
  refuseEmptyValues(app);
}

/// The first word, where it names no command.
static std::string unknownCommand(const CLI::App &app, int argc, char **argv) {
  if (argc < 2 || argv[1][0] == '-')
    return "";
  for (const CLI::App *command :
       app.get_subcommands([](const CLI::App *) { return true; }))
    if (command->get_name() == argv[1])
      return "";
  return argv[1];
}

/// Usage: help on stdout is a success, a mistake goes to stderr with code 2.
static int reportUsage(const CLI::App &app, const CLI::ParseError &error,
                       int argc, char **argv) {
  if (error.get_exit_code() == 0)
    return app.exit(error);
  if (std::string command = unknownCommand(app, argc, argv); !command.empty()) {
    std::fprintf(stderr,
                 "gradus: unknown command '%s'; `gradus --help` lists them\n",
                 command.c_str());
    return kBadInput;
  }
  std::fprintf(stderr, "gradus: %s\nRun with --help for usage and examples.\n",
               error.what());
  return kBadInput;
}

/// What was printed has arrived, or the command has failed: the disk is full.
static void flushOutput() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    throw failed("not all of standard output could be written; is the disk "
                 "full?");
}

static int run(int argc, char **argv) {
  CLI::App app("Compiles whole training steps ahead of time and runs them.",
               "gradus");
  addCommands(app);
  int code = kDone;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    code = reportUsage(app, error, argc, argv);
  }
  flushOutput();
  return code;
}

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const Failure &failure) {
    std::fflush(stdout);
    if (*failure.what())
      std::fprintf(stderr, "gradus: %s\n", failure.what());
    return failure.code;
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "gradus: out of memory\n");
  } catch (const std::exception &error) {
    std::fprintf(stderr, "gradus: %s\n", error.what());
  }
  return kFailedWhileRunning;
}
