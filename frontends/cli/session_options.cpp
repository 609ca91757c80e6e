// Opens an artifact as the command line says.

#include "frontends/cli/session_options.h"

#include "frontends/cli/failure.h"

#include "absl/strings/str_join.h"

#include <cstdio>

using namespace gradus::runtime;

namespace gradus::cli {

void addSessionOptions(CLI::App &command, SessionOptions &options) {
  command.add_option("artifact", options.artifact, "The .gradus file")
      ->required();
  command.add_option("--threads", options.threads, "Threads; 0: one per core")
      ->check(CLI::Range(0, 4096));
  command.add_option("--device", options.device, "Where to run: cpu");
  command.add_flag("--trust", options.trust,
                   "Do not check the hashes of weights and code");
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

std::unique_ptr<Session> openSession(const SessionOptions &options) {
  auto session = take(Session::load(options.artifact, runtimeOptions(options),
                                    {.trust = options.trust}));
  if (!options.init.empty())
    check(session->loadCheckpoint(options.init, Restore::parameters));
  if (!options.resume.empty())
    check(session->loadCheckpoint(options.resume, Restore::everything));
  return session;
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
