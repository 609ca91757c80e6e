// Opens an artifact as the command line says.

#include "tool/session/session_options.h"

#include "frontends/compiler/name_map.h"
#include "messages/json_text.h"
#include "messages/printable.h"
#include "runtime/cpu/cores.h"
#include "runtime/safetensors.h"
#include "runtime/session/checkpoint.h"
#include "runtime/well_known.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"
#include "tool/number_options.h"
#include "tool/session/averages.h"
#include "tool/session/init_advice.h"
#include "tool/text.h"
#include "tool/weight_options.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdio>
#include <set>

using namespace gradus::runtime;

namespace gradus::cli {

void addSessionOptions(CLI::App &command, SessionOptions &options) {
  command.add_option("artifact", options.artifact, "The .gradus file")
      ->required();
  command
      .add_option_function<int>(
          "--threads",
          [&options](int threads) {
            options.threads =
                threadsToUse("--threads", threads, availableCores());
          },
          "Threads; 0: one per core that this process may use")
      ->check(wholeNumber(0, kMostThreads));
  command.add_option("--device", options.device,
                     "Where to run: cpu, cuda, cuda:1, emulated");
  command.add_flag("--trust", options.trust,
                   "Do not check the hashes of weights and constants");
  command.add_flag("--verbose", options.verbose, "Say what loading chose");
  command.add_flag("--json", options.json, "One JSON object a line");
}

void addDataThreads(CLI::App &command, SessionOptions &options) {
  command
      .add_option_function<int>(
          "--data-threads",
          [&options](int threads) {
            options.dataThreads =
                threadsToUse("--data-threads", threads, availableCores());
          },
          "Threads that decode and scale images ahead of the step; 0: as many "
          "as --threads")
      ->check(wholeNumber(0, kMostThreads));
}

int dataThreads(const SessionOptions &options) {
  if (options.dataThreads > 0)
    return options.dataThreads;
  return options.threads > 0 ? options.threads : availableCores();
}

int threadsToUse(const std::string &option, int asked, int cores) {
  if (asked <= cores)
    return asked;
  warn(absl::StrCat(option, " ", asked, ": this process may use ", cores,
                    cores == 1 ? " core" : " cores",
                    " (by its affinity and CPU quota), so it runs on as many "
                    "threads"));
  return cores;
}

static void addInitMap(CLI::App &command, SessionOptions &options) {
  command
      .add_option("--init-map", options.initMap,
                  "Names in that file: FROM=TO with one *, such as "
                  "'encoder.*=backbone.*'; 'head.*=' leaves out; or FILE.json "
                  "of many; repeats")
      ->allow_extra_args(false);
}

void addStateOptions(CLI::App &command, SessionOptions &options) {
  command.add_option(
      "--init", options.init,
      "Take those parameters and buffers that this .safetensors file has");
  addInitMap(command, options);
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
  addInitMap(command, options);
  command.add_flag("--ema", options.averaged,
                   "Use the averages of the weights (the recipe's ema)");
  command.add_option("--data", data, "FILE or NAME=FILE; repeats")
      ->required()
      ->allow_extra_args(false);
  addDataThreads(command, options);
}

static runtime::SessionOptions runtimeOptions(const SessionOptions &options) {
  runtime::SessionOptions result;
  result.threads = options.threads;
  result.device = options.device;
  result.onAnyRanks = options.onAnyRanks;
  if (options.verbose)
    result.log = [](const std::string &line) {
      std::fprintf(stderr, "%s\n", printableLines(line).c_str());
    };
  return result;
}

/// Says "; FILE is of the program a, the artifact of b" if that is so.
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

/// Says "; its parameters fit: --init FILE takes them alone" if that is so.
static std::string parametersFit(const Session &session,
                                 const std::string &path) {
  auto file = Safetensors::open(path);
  if (!file.ok() || !verifyContents(*file).ok())
    return "";
  for (const StateInfo &state : session.states()) {
    const NamedTensor *tensor = file->find(state.name);
    if (state.role == artifact::Role::parameter &&
        (!tensor || tensor->type != state.type))
      return "";
  }
  return absl::StrCat("; its parameters fit: --init ", path,
                      " takes them alone");
}

/// States that fit may still be those of another model, which deserves a line.
static void resume(Session &session, const std::string &path) {
  // PyTorch's optimizer states are not ours: only weights are read.
  refuseForeign(path, Wanted::weights, "--init");
  runtime::Status status = session.loadCheckpoint(path, Restore::everything);
  std::string differ = programsDiffer(session, path);
  if (status.ok() && !differ.empty())
    warn(differ);
  if (!status.ok())
    status = {status.code(),
              absl::StrCat(status.message(), parametersFit(session, path),
                           differ.empty() ? "" : "; ", differ)};
  check(status);
}

/// Joins names: "a, b and 3 more".
static std::string someOf(const std::vector<std::string> &names) {
  constexpr size_t kMost = 8;
  std::vector<std::string> first(names.begin(),
                                 names.begin() + std::min(kMost, names.size()));
  std::string text = absl::StrJoin(first, ", ");
  if (names.size() > kMost)
    absl::StrAppend(&text, " and ", names.size() - kMost, " more");
  return text;
}

std::vector<UsedFile> initialFiles(const SessionOptions &options) {
  std::vector<UsedFile> files = ruleFiles("--init-map", options.initMap);
  files.push_back({"the artifact", options.artifact});
  files.push_back({"--init", options.init});
  return files;
}

/// A rule that matches nothing would silently change nothing.
static void checkMatches(const compiler::NameMap &map, const std::string &path,
                         const Safetensors &file, const Session &session) {
  std::vector<std::string> from, to;
  for (const NamedTensor &tensor : file.tensors())
    from.push_back(tensor.name);
  for (const StateInfo &state : session.states())
    if (state.role == artifact::Role::parameter ||
        state.role == artifact::Role::buffer)
      to.push_back(state.name);
  check(map.checkFits(path, from));
  check(map.checkKnown(from, to));
}

/// Prints "note: w.safetensors: weights are converted from f16 to f32" if that
/// is so.
static void noteConversions(const SessionOptions &options,
                            const Safetensors &file, const Rename &rename,
                            const Session &session) {
  std::set<std::string> words;
  for (const NamedTensor &tensor : file.tensors()) {
    int state = session.findState(rename(tensor.name));
    if (state < 0)
      continue;
    std::string from = nameOf(tensor.type.dtype),
                to = nameOf(session.states()[state].type.dtype);
    if (from != to)
      words.insert(absl::StrCat(from, " to ", to));
  }
  if (!words.empty())
    note(absl::StrCat(options.init, ": weights are converted from ",
                      absl::StrJoin(words, ", ")));
}

/// If a rule matches several names, some may not be in the model.
static void noteUnknownNames(const SessionOptions &options,
                             const Safetensors &file, const Rename &rename,
                             const Session &session) {
  std::vector<std::string> unknown;
  for (const NamedTensor &tensor : file.tensors())
    if (std::string name = rename(tensor.name);
        !name.empty() && name != tensor.name && session.findState(name) < 0)
      unknown.push_back(name);
  if (!unknown.empty())
    note(absl::StrCat("--init-map: the model has no ", someOf(unknown),
                      ", for which ", options.init,
                      " has values; they are not used"));
}

/// Advice for weights that do not fit.
static std::string adviceOn(const Safetensors &file, const Rename &rename,
                            const Session &session) {
  std::string shapes = adviceOnShapes(file, rename, session);
  return shapes.empty() ? adviceOnNames(file, rename, session) : shapes;
}

/// Missing weights may be intended, or be a mistake in a name.
static void initialize(Session &session, const SessionOptions &options) {
  if (options.init.empty() && !options.initMap.empty())
    throw badInput("--init-map ", options.initMap.front(),
                   ": needs --init FILE, whose names it maps");
  auto map = take(compiler::NameMap::of("--init-map", options.initMap));
  if (options.init.empty())
    return;
  refuseForeign(options.init, Wanted::weights, "--init");
  Safetensors file = take(Safetensors::open(options.init));
  Rename rename = map;
  if (options.averaged) {
    verifyAverages(file, options.init);
    rename = namedAsParameters(rename);
  }
  checkMatches(map, options.init, file, session);
  TakenWeights weights;
  runtime::Status status = session.loadWeights(options.init, rename, &weights);
  if (!status.ok())
    check(runtime::Status(status.code(),
                          status.message() + adviceOn(file, rename, session)));
  noteConversions(options, file, rename, session);
  if (!options.initMap.empty())
    noteUnknownNames(options, file, rename, session);
  if (weights.missing.empty())
    return;
  std::string words =
      absl::StrCat(options.init, " has ", weights.taken.size(),
                   " parameters and buffers; initial ones stay for ",
                   someOf(weights.missing));
  if (!weights.unused.empty())
    absl::StrAppend(&words, "; not used: ", someOf(weights.unused));
  absl::StrAppend(&words, adviceOnRest(file, rename, session));
  note(words);
}

std::unique_ptr<Session> openSession(const SessionOptions &options,
                                     std::shared_ptr<Collectives> ranks) {
  refuseForeign(options.artifact, Wanted::artifact);
  runtime::SessionOptions loading = runtimeOptions(options);
  loading.collectives = std::move(ranks);
  auto session = take(Session::load(options.artifact, std::move(loading),
                                    {.trust = options.trust}));
  initialize(*session, options);
  if (!options.resume.empty())
    resume(*session, options.resume);
  if (options.averaged && (options.init.empty() || !options.resume.empty()))
    takeAverages(*session);
  return session;
}

const std::string &trainedFile(const SessionOptions &options) {
  return options.resume.empty() ? options.init : options.resume;
}

void noteInitialState(const SessionOptions &options) {
  if (options.resume.empty() && options.init.empty())
    note("without --checkpoint or --init the weights are the initial ones");
}

int findGraph(const Session &session, const std::string &name) {
  return take(training::graphOf(session, name));
}

int64_t callsPerStep(const Session &session, int graph) {
  bool trains = session.graphs()[graph].name == well_known::kTrain;
  return trains ? session.turns() : 1;
}

} // namespace gradus::cli
