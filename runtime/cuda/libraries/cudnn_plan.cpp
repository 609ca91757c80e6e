// Heuristics list configurations of engines; those that are allowed and state
// at most the available workspace are built in order.

#include "runtime/cuda/libraries/cudnn_plan.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace gradus::runtime::cuda::cudnn {

namespace {

constexpr int64_t kMostConfigs = 100;
/// Building takes seconds; after this many plans that then need more workspace,
/// the search ends.
constexpr int kMostMisses = 16;

//===-- heuristics -------------------------------------------------------===//

StatusOr<std::vector<Descriptor>> configsOf(const Session &session,
                                            const OperationGraph &graph,
                                            HeuristicMode mode) {
  Descriptor heuristics(session.library, Kind::heuristics);
  heuristics.set(Attribute::heuristicsGraph, graph.graph)
      .set(Attribute::heuristicsMode, mode);
  if (session.device)
    heuristics.set(Attribute::heuristicsDevice, session.device);
  GRADUS_TRY(heuristics.finalize("asking cuDNN for " + graph.what));
  return heuristics.getDescriptors(Attribute::heuristicsResults,
                                   Kind::engineConfig, kMostConfigs);
}

StatusOr<Descriptor> engineOf(const Descriptor &config) {
  GRADUS_ASSIGN(auto engines, config.getDescriptors(Attribute::configEngine,
                                                    Kind::engine, 1));
  if (engines.size() != 1)
    return failed("cuDNN names no engine");
  return std::move(engines[0]);
}

bool isNeverTaken(NumericalNote note) {
  return note == NumericalNote::notDeterministic ||
         note == NumericalNote::sumsRounded ||
         note == NumericalNote::inputsRounded;
}

/// Whether an engine loses digits of f32: by TF32, or by sums of large numbers
/// that cancel.
bool losesDigits(NumericalNote note) {
  return note == NumericalNote::tensorCore || note == NumericalNote::fourier ||
         note == NumericalNote::winogradOf6x6 ||
         note == NumericalNote::winogradOf13x13;
}

using Notes = std::vector<NumericalNote>;

StatusOr<Notes> notesOf(const Descriptor &config) {
  GRADUS_ASSIGN(Descriptor engine, engineOf(config));
  return engine.getList<NumericalNote>(Attribute::engineNumericalNotes,
                                       kMostNotes);
}

bool mayServe(const Notes &notes, bool isF32) {
  return std::ranges::none_of(notes, [&](NumericalNote note) {
    return isNeverTaken(note) || (isF32 && losesDigits(note));
  });
}

//===-- algorithms as text ------------------------------------------------===//

StatusOr<std::string> textOf(const Descriptor &config) {
  GRADUS_ASSIGN(Descriptor engine, engineOf(config));
  GRADUS_ASSIGN(int64_t index, engine.get<int64_t>(Attribute::engineIndex));
  std::string text = inWords("eng", index);
  GRADUS_ASSIGN(auto knobs,
                config.getDescriptors(Attribute::configKnobs, Kind::knobChoice,
                                      kMostKnobs));
  for (const Descriptor &knob : knobs) {
    GRADUS_ASSIGN(KnobType type, knob.get<KnobType>(Attribute::knobType));
    GRADUS_ASSIGN(int64_t value, knob.get<int64_t>(Attribute::knobValue));
    append(text, "_k", int(type), "=", value);
  }
  return text;
}

struct Knob {
  int32_t type = 0;
  int64_t value = 0;
};
struct Algorithm {
  int64_t engine = 0;
  std::vector<Knob> knobs;
};

/// Parses `before` followed by a number; false if the text has something else.
template <typename Number>
bool take(std::string_view &text, std::string_view before, Number &number) {
  if (!text.starts_with(before))
    return false;
  text.remove_prefix(before.size());
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(size_t(end - text.data()));
  return error == std::errc();
}

StatusOr<Algorithm> algorithmOf(std::string_view text) {
  Algorithm made;
  std::string_view rest = text;
  bool fits = take(rest, "eng", made.engine);
  while (fits && !rest.empty()) {
    Knob knob;
    fits = take(rest, "_k", knob.type) && take(rest, "=", knob.value);
    made.knobs.push_back(knob);
  }
  if (!fits)
    return invalid("algorithm '", text,
                   "' of cuDNN is not of the form eng1_k2=3");
  return made;
}

StatusOr<Descriptor> configOf(const Session &session,
                              const OperationGraph &graph,
                              const Algorithm &algorithm) {
  Descriptor engine(session.library, Kind::engine);
  engine.set(Attribute::engineGraph, graph.graph)
      .set(Attribute::engineIndex, algorithm.engine);
  if (session.device)
    engine.set(Attribute::engineDevice, session.device);
  GRADUS_TRY(engine.finalize(
      inWords("taking engine ", algorithm.engine, " for ", graph.what)));
  std::vector<Descriptor> knobs;
  std::vector<RawDescriptor> raw;
  for (const Knob &knob : algorithm.knobs) {
    knobs.emplace_back(session.library, Kind::knobChoice);
    knobs.back()
        .set(Attribute::knobType, KnobType(knob.type))
        .set(Attribute::knobValue, knob.value);
    GRADUS_TRY(knobs.back().finalize(inWords("setting knob ", knob.type)));
    raw.push_back(knobs.back().raw());
  }
  Descriptor config(session.library, Kind::engineConfig);
  config.set(Attribute::configEngine, engine)
      .setDescriptors(Attribute::configKnobs, raw);
  GRADUS_TRY(config.finalize(
      inWords("tuning engine ", algorithm.engine, " for ", graph.what)));
  return config;
}

//===-- building ----------------------------------------------------------===//

StatusOr<ExecutionPlan> build(const Session &session,
                              const OperationGraph &graph, Descriptor config) {
  ExecutionPlan made;
  made.plan = Descriptor(session.library, Kind::executionPlan);
  made.plan.set(Attribute::planConfig, config);
  if (session.handle)
    made.plan.set(Attribute::planHandle, session.handle);
  if (session.device)
    made.plan.set(Attribute::planDevice, session.device);
  GRADUS_TRY(made.plan.finalize("building " + graph.what));
  GRADUS_ASSIGN(int64_t workspace,
                made.plan.get<int64_t>(Attribute::planWorkspace));
  made.workspace = uint64_t(workspace);
  GRADUS_ASSIGN(made.algorithm, textOf(config));
  GRADUS_ASSIGN(Notes notes, notesOf(config));
  made.hasTensorCores =
      std::ranges::count(notes, NumericalNote::tensorCore) > 0;
  made.config = std::move(config);
  return made;
}

/// The allowed configurations of the heuristics, the best first. Unreadable
/// ones are skipped, and their error is kept.
class Candidates {
public:
  struct Candidate {
    Descriptor config;
    std::optional<uint64_t> workspace; // as stated before it is built
    size_t choice = 0;
  };

  Candidates(const Session &session, const OperationGraph &graph)
      : session_(session), graph_(graph) {}

  std::vector<Candidate> find(HeuristicMode mode) {
    std::vector<Candidate> found;
    auto configs = configsOf(session_, graph_, mode);
    if (!configs.ok()) {
      words_ = configs.status();
      return found;
    }
    for (Descriptor &config : *configs) {
      ++seen_;
      auto notes = notesOf(config);
      if (!notes.ok())
        words_ = notes.status();
      else if (mayServe(*notes, graph_.isF32)) {
        auto workspace = config.get<int64_t>(Attribute::configWorkspace);
        found.push_back({std::move(config),
                         workspace.ok() ? std::optional(uint64_t(*workspace))
                                        : std::nullopt,
                         seen_});
      }
    }
    return found;
  }

  std::optional<ExecutionPlan> build(Candidate &candidate) {
    auto plan = cudnn::build(session_, graph_, std::move(candidate.config));
    if (plan.ok()) {
      plan->choice = candidate.choice;
      return *std::move(plan);
    }
    words_ = plan.status();
    return std::nullopt;
  }

  /// The last failure, which explains why there are no more.
  const Status &status() const { return words_; }
  /// Explains why there is no candidate.
  Status words() const {
    return words_.ok()
               ? failed("cuDNN has no deterministic engine for ", graph_.what)
               : words_;
  }

private:
  const Session &session_;
  const OperationGraph &graph_;
  size_t seen_ = 0;
  Status words_;
};

using Candidate = Candidates::Candidate;

bool mayFit(const Candidate &candidate, uint64_t workspace) {
  return !candidate.workspace || *candidate.workspace <= workspace;
}

bool statesLess(const Candidate &one, const Candidate &other) {
  return one.workspace < other.workspace;
}

} // namespace

StatusOr<ExecutionPlan> choosePlan(const Session &session,
                                   const OperationGraph &graph,
                                   uint64_t workspace) {
  Candidates candidates(session, graph);
  std::optional<ExecutionPlan> least;
  std::vector<Candidate> larger; // sorted by stated workspace
  int misses = 0;
  for (HeuristicMode mode : {HeuristicMode::best, HeuristicMode::fallback})
    for (Candidate &each : candidates.find(mode)) {
      if (!mayFit(each, workspace)) {
        larger.insert(
            std::upper_bound(larger.begin(), larger.end(), each, statesLess),
            std::move(each));
        continue;
      }
      if (misses == kMostMisses)
        continue;
      std::optional<ExecutionPlan> plan = candidates.build(each);
      if (plan && plan->workspace <= workspace)
        return *std::move(plan);
      misses += plan.has_value();
      if (plan && (!least || plan->workspace < least->workspace))
        least = std::move(plan);
    }
  for (Candidate &each : larger) {
    if (least && least->workspace <= *each.workspace)
      break;
    if (std::optional<ExecutionPlan> plan = candidates.build(each)) {
      if (!least || plan->workspace < least->workspace)
        least = std::move(plan);
      break;
    }
  }
  if (least)
    return *std::move(least);
  return candidates.words();
}

StatusOr<ExecutionPlan> planOf(const Session &session,
                               const OperationGraph &graph,
                               const std::string &algorithm) {
  GRADUS_ASSIGN(Algorithm parsed, algorithmOf(algorithm));
  GRADUS_ASSIGN(Descriptor config, configOf(session, graph, parsed));
  GRADUS_ASSIGN(Notes notes, notesOf(config));
  if (!mayServe(notes, graph.isF32))
    return failed("algorithm ", algorithm,
                  " of cuDNN is not deterministic, or loses digits");
  return build(session, graph, std::move(config));
}

StatusOr<std::vector<std::string>> algorithmsOf(const Session &session,
                                                const OperationGraph &graph,
                                                uint64_t workspace) {
  Candidates candidates(session, graph);
  std::vector<std::string> texts;
  for (HeuristicMode mode : {HeuristicMode::best, HeuristicMode::fallback})
    for (Candidate &each : candidates.find(mode)) {
      if (!mayFit(each, workspace))
        continue;
      std::optional<ExecutionPlan> plan = candidates.build(each);
      if (plan && plan->workspace <= workspace &&
          std::find(texts.begin(), texts.end(), plan->algorithm) == texts.end())
        texts.push_back(plan->algorithm);
    }
  if (texts.empty())
    GRADUS_TRY(candidates.status());
  return texts;
}

} // namespace gradus::runtime::cuda::cudnn
