// Opens an artifact as the command line says.

#include "frontends/cli/session_options.h"

#include "frontends/cli/failure.h"
#include "runtime/safetensors.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"

#include <cstdio>

using namespace gradus::runtime;

namespace gradus::cli {

void addSessionOptions(CLI::App &command, SessionOptions &options) {
  command.add_option("artifact", options.artifact, "The .gradus file")
      ->required();
  command.add_option("--threads", options.threads, "Threads; 0: one per core")
      ->check(CLI::Range(0, kMostThreads));
  command.add_option("--device", options.device, "Where to run: cpu");
  command.add_flag("--trust", options.trust,
                   "Do not check the hashes of weights and constants");
  command.add_flag("--verbose", options.verbose, "Say what loading chose");
  command.add_flag("--json", options.json, "One JSON object a line");
}

void addStateOptions(CLI::App &command, SessionOptions &options) {
  command.add_option(
      "--init", options.init,
      "Take those parameters and buffers that this .safetensors file has");
  command.add_option(
      "--resume", options.resume,
      "Take the whole state of this checkpoint and continue from it");
}

void addTrainedOptions(CLI::App &command, SessionOptions &options,
                       std::vector<std::string> &data) {
  addSessionOptions(command, options);
  command.add_option("--checkpoint", options.resume, "The state, whole");
  command.add_option("--init", options.init,
                     "Parameters only, where there is no checkpoint");
  command.add_option("--data", data, "FILE or NAME=FILE")
      ->required()
      ->allow_extra_args(false);
}

CLI::Validator positive() {
  auto words = [](const std::string &text) -> std::string {
    int64_t value;
    if (absl::SimpleAtoi(text, &value) && value >= 1)
      return "";
    return absl::StrCat("expected a whole number of 1 or more, found ", text);
  };
  return CLI::Validator(words, "NUMBER");
}

static runtime::SessionOptions runtimeOptions(const SessionOptions &options) {
  runtime::SessionOptions result;
  result.threads = options.threads;
  result.device = options.device;
  if (options.verbose)
    result.log = [](const std::string &line) {
      std::fprintf(stderr, "%s\n", line.c_str());
    };
  return result;
}

/// "; FILE is of the program a, the artifact of b" where that is so.
static std::string programsDiffer(const Session &session,
                                  const std::string &path) {
  auto file = Safetensors::open(path);
  const flatbuffers::String *mine = session.artifact().header().name();
  if (!file.ok() || !file->metadata().contains("program") || !mine ||
      file->metadata().at("program") == mine->str())
    return "";
  return absl::StrCat(path, " is a checkpoint of the program '",
                      file->metadata().at("program"), "', but ",
                      session.artifact().path(), " is of '", mine->str(), "'");
}

/// States that fit may still be those of another model: that is worth a line.
static void resume(Session &session, const std::string &path) {
  runtime::Status status = session.loadCheckpoint(path, Restore::everything);
  std::string differ = programsDiffer(session, path);
  if (status.ok() && !differ.empty())
    std::fprintf(stderr, "warning: %s\n", differ.c_str());
  if (!status.ok() && !differ.empty())
    status = {status.code(), absl::StrCat(status.message(), "; ", differ)};
  check(status);
}

std::unique_ptr<Session> openSession(const SessionOptions &options) {
  auto session = take(Session::load(options.artifact, runtimeOptions(options),
                                    {.trust = options.trust}));
  if (!options.init.empty())
    check(session->loadCheckpoint(options.init, Restore::parameters));
  if (!options.resume.empty())
    resume(*session, options.resume);
  return session;
}

void noteInitialState(const SessionOptions &options) {
  if (options.resume.empty() && options.init.empty())
    std::fprintf(stderr, "note: without --checkpoint or --init the weights are "
                         "the initial ones\n");
}

int findGraph(const Session &session, const std::string &name) {
  int graph = session.findGraph(name);
  if (graph >= 0)
    return graph;
  std::string names = absl::StrJoin(
      session.graphs(), ", ", [](std::string *out, const GraphInfo &graph) {
        out->append(graph.name);
      });
  throw badInput(session.artifact().path(), ": has no graph '", name,
                 "'; it has ", names);
}

nlohmann::json recipeOf(const Session &session) {
  const flatbuffers::String *text = session.artifact().header().recipe();
  nlohmann::json recipe = nlohmann::json::parse(
      text ? text->str() : "", nullptr, /*allow_exceptions=*/false);
  return recipe.is_object() ? recipe : nlohmann::json::object();
}

data::LabelRule labelRule(const Session &session) {
  data::LabelRule rule{session.artifact().header().classes(), {}};
  nlohmann::json recipe = recipeOf(session);
  auto ignore = nlohmann::json::json_pointer("/loss/ignore_index");
  if (recipe.contains(ignore) && recipe[ignore].is_number_integer())
    rule.ignore = recipe[ignore].get<int64_t>();
  return rule;
}

} // namespace gradus::cli
