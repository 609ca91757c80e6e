// Heuristics give configurations of engines; those that may serve are built in
// their order.

#include "runtime/cuda/cudnn_plan.h"

#include <charconv>
#include <functional>
#include <optional>

namespace gradus::runtime::cuda::cudnn {

namespace {

constexpr int64_t kMostConfigs = 100;

//===-- what heuristics say -----------------------------------------------===//

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

StatusOr<bool> mayServe(const Descriptor &config, bool isF32) {
  GRADUS_ASSIGN(Descriptor engine, engineOf(config));
  GRADUS_ASSIGN(auto notes, engine.getList<NumericalNote>(
                                Attribute::engineNumericalNotes, kMostNotes));
  for (NumericalNote note : notes)
    if (note == NumericalNote::notDeterministic ||
        note == NumericalNote::sumsRounded ||
        note == NumericalNote::inputsRounded ||
        (isF32 && note == NumericalNote::tensorCore))
      return false;
  return true;
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

/// Reads `before` and then a number; false where the text has something else.
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
  made.config = std::move(config);
  return made;
}

/// Builds what may serve, best first, and gives it to `take` until that says
/// that it is enough. What cannot be built is passed over; its words are given
/// back.
Status buildEach(const Session &session, const OperationGraph &graph,
                 const std::function<bool(ExecutionPlan)> &take) {
  Status last;
  for (HeuristicMode mode : {HeuristicMode::best, HeuristicMode::fallback}) {
    auto configs = configsOf(session, graph, mode);
    if (!configs.ok()) {
      last = configs.status();
      continue;
    }
    for (Descriptor &config : *configs) {
      GRADUS_ASSIGN(bool may, mayServe(config, graph.isF32));
      if (!may)
        continue;
      auto plan = build(session, graph, std::move(config));
      if (!plan.ok())
        last = plan.status();
      else if (take(*std::move(plan)))
        return Status();
    }
  }
  return last;
}

} // namespace

StatusOr<ExecutionPlan> choosePlan(const Session &session,
                                   const OperationGraph &graph,
                                   uint64_t workspace) {
  std::optional<ExecutionPlan> best;
  Status status = buildEach(session, graph, [&](ExecutionPlan plan) {
    if (!best || plan.workspace < best->workspace)
      best = std::move(plan);
    return best->workspace <= workspace;
  });
  if (best)
    return *std::move(best);
  if (!status.ok())
    return status;
  return failed("cuDNN has no deterministic engine for ", graph.what);
}

StatusOr<ExecutionPlan> planOf(const Session &session,
                               const OperationGraph &graph,
                               const std::string &algorithm) {
  GRADUS_ASSIGN(Algorithm parsed, algorithmOf(algorithm));
  GRADUS_ASSIGN(Descriptor config, configOf(session, graph, parsed));
  GRADUS_ASSIGN(bool may, mayServe(config, graph.isF32));
  if (!may)
    return failed("algorithm ", algorithm,
                  " of cuDNN is not deterministic, or rounds what it sums");
  return build(session, graph, std::move(config));
}

StatusOr<std::vector<std::string>> algorithmsOf(const Session &session,
                                                const OperationGraph &graph,
                                                uint64_t workspace) {
  std::vector<std::string> texts;
  Status status = buildEach(session, graph, [&](const ExecutionPlan &plan) {
    if (plan.workspace <= workspace &&
        std::find(texts.begin(), texts.end(), plan.algorithm) == texts.end())
      texts.push_back(plan.algorithm);
    return false;
  });
  if (texts.empty() && !status.ok())
    return status;
  return texts;
}

} // namespace gradus::runtime::cuda::cudnn
