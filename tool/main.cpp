// gradus: compiles training steps and runs them. This file only selects the
// command; each command has a file of its own.

#include "messages/caught.h"
#include "messages/json_text.h"
#include "messages/printable.h"
#include "tool/command_line.h"
#include "tool/commands.h"
#include "tool/compiler_library.h"
#include "tool/failure.h"
#include "tool/standard_streams.h"
#include "tool/suggestion.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

using namespace gradus::cli;

static const char *kExamples = R"(Examples:
  gradus compile lenet.onnx --recipe recipe.json -o lenet.gradus
  gradus train lenet.gradus --data train.safetensors --eval test.safetensors \
      --epochs 20 --checkpoint lenet.safetensors
  gradus evaluate lenet.gradus --checkpoint lenet.safetensors --data test.safetensors
  gradus predict lenet.gradus --checkpoint lenet.safetensors --data new.npz -o out.npz

Exit codes: 0 done, 1 failed while running, 2 usage or input (also where input
is found bad while running), 130 interrupted.
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
  addBasis(app);
  addBench(app);
  addCompare(app);
  addTune(app);
  addDoctor(app);
  addRecipe(app);
  refuseEmptyValues(app);
}

/// An error for the first word if it names no command.
static std::string unknownCommand(const CLI::App &app, int argc, char **argv) {
  if (argc < 2 || argv[1][0] == '-')
    return "";
  std::vector<std::string> names;
  for (const CLI::App *command :
       app.get_subcommands([](const CLI::App *) { return true; }))
    names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end())
    return "";
  std::string near = suggestion(argv[1], names);
  return "unknown command '" + std::string(argv[1]) + "'" +
         (near.empty() ? "; `gradus --help` lists them" : near);
}

/// The options of all commands, and of the tool itself. Of `compile`, those of
/// keys are among them.
static Commands optionsOfAll(const CLI::App &app) {
  Commands all;
  auto add = [&](const CLI::App *command) {
    std::vector<std::string> &names = all[command->get_name()];
    for (const CLI::Option *option : command->get_options())
      for (const std::string &name : option->get_lnames())
        names.push_back("--" + name);
  };
  add(&app);
  for (const CLI::App *command :
       app.get_subcommands([](const CLI::App *) { return true; }))
    add(command);
  if (!compilerLibraryPath().empty())
    for (const gradus::compiler::RecipeFlag &flag :
         compilerLibrary().recipeFlags())
      all["compile"].push_back(flag.name);
  return all;
}

/// An error for the first option that the command does not have. It comes
/// before errors of missing options: it may be a misspelling of one.
static std::string unknownOption(const CLI::App &app, const Commands &all) {
  for (const std::string &word : app.remaining())
    if (word.starts_with("--")) {
      std::string name = word.substr(0, word.find('='));
      return "unknown option '" + name + "'" +
             suggestedOption(name, app.get_name(), all,
                             !valuesOf("--plugin").empty());
    }
  for (const CLI::App *command : app.get_subcommands())
    if (std::string words = unknownOption(*command, all); !words.empty())
      return command->get_name() + ": " + words;
  return "";
}

/// An error "--dim batch 4: write --dim batch=4" if an option that needs a pair
/// gets two words.
static std::string splitPair(int argc, char **argv) {
  for (int i = 1; i + 2 < argc; ++i) {
    std::string option = argv[i], name = argv[i + 1], value = argv[i + 2];
    bool takesPair = option == "--dim" || option == "--set";
    if (takesPair && name.find('=') == std::string::npos && value[0] != '-')
      return option + " " + name + " " + value + ": write " + option + " " +
             name + "=" + value;
  }
  return "";
}

static std::string usageMistake(const CLI::App &app,
                                const CLI::ParseError &error, int argc,
                                char **argv) {
  std::string words = unknownCommand(app, argc, argv);
  if (words.empty())
    words = unknownOption(app, optionsOfAll(app));
  if (words.empty())
    words = splitPair(argc, argv);
  return words.empty() ? error.what() : words;
}

/// Reports usage: help on stdout is a success, a mistake goes to stderr with
/// code 2. Of the processes of a launcher the first one does.
static int reportUsage(const CLI::App &app, const CLI::ParseError &error,
                       int argc, char **argv) {
  if (error.get_exit_code() == 0)
    return isLaterProcess() ? kDone : app.exit(error);
  if (leavesWordsToFirst())
    return kBadInput;
  std::fprintf(stderr, "gradus: %s\nRun with --help for usage and examples.\n",
               gradus::printable(usageMistake(app, error, argc, argv)).c_str());
  return kBadInput;
}

/// Fails if output was not written, as on a full disk.
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
  openClosedStreams();
  // Writing beyond the shell's `ulimit -f` should be an error of write().
  std::signal(SIGXFSZ, SIG_IGN);
  rememberCommandLine(argc, argv);
  try {
    return run(argc, argv);
  } catch (const Failure &failure) {
    std::fflush(stdout);
    if (*failure.what())
      std::fprintf(stderr, "gradus: %s\n",
                   gradus::printableLines(failure.what()).c_str());
    return failure.code;
  } catch (const nlohmann::json::exception &error) {
    std::fprintf(stderr,
                 "gradus: JSON that was read, such as the recipe in an "
                 "artifact, is not as it should be: %s\n",
                 gradus::printable(gradus::wordsOf(error)).c_str());
  } catch (const std::exception &) {
    std::fprintf(stderr, "gradus: %s\n",
                 gradus::printableLines(gradus::wordsOfCaught()).c_str());
  }
  return kFailedWhileRunning;
}
