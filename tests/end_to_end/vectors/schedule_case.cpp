// Learning-rate schedules of other frameworks as pieces of ours, seen in how
// far a compiled step of plain descent moves.

#include "vector_file.h"

#include <stdexcept>

namespace gradus::vectors {
namespace {

/// The largest rate and the factors on it.
struct Schedule {
  double rate = 0;
  Json pieces = {};
};

Schedule onePiece(double rate, Json piece) {
  return {rate, Json::array({std::move(piece)})};
}

//===-- torch.optim.lr_scheduler ------------------------------------------===//

/// The largest rate's own scheduler.
Schedule torchOneCycle(const Settings &h) {
  h.ignore({"base_lr", "cycle_momentum", "base_momentum", "max_momentum"});
  double initial = 1 / h.value("div_factor", 25.0);
  double epochs = h.value("epochs", 0.0) * h.value("steps_per_epoch", 0.0);
  return onePiece(
      h.number("max_lr"),
      {{"type", "one_cycle"},
       {"steps", static_cast<int64_t>(h.value("total_steps", epochs))},
       {"rise", h.value("pct_start", 0.3)},
       {"initial", initial},
       {"final", initial / h.value("final_div_factor", 1e4)},
       {"shape", h.value("anneal_strategy", std::string("cos")) == "cos"
                     ? "cosine"
                     : "linear"},
       {"three_phase", h.value("three_phase", false)}});
}

Schedule torchCyclic(const Settings &h) {
  h.ignore({"cycle_momentum", "base_momentum", "max_momentum"});
  double most = h.number("max_lr"), up = h.value("step_size_up", 2000.0);
  std::string mode = h.value("mode", std::string("triangular"));
  double gamma = h.value("gamma", 1.0);
  return onePiece(most, {{"type", "cyclic"},
                         {"rise", up},
                         {"fall", h.value("step_size_down", up)},
                         {"low", h.number("base_lr") / most},
                         {"halve", mode == "triangular2"},
                         {"rate", mode == "exp_range" ? gamma : 1.0}});
}

/// A straight way for some steps, and what it came to up to a length; a length
/// of 0 is open.
Json torchLine(int64_t steps, double from, double to, int64_t length) {
  if (length && steps > length) // A part of the way.
    return {{{"type", "linear"},
             {"steps", length},
             {"initial", from},
             {"final", from + (to - from) * length / steps}}};
  Json line = {
      {"type", "linear"}, {"steps", steps}, {"initial", from}, {"final", to}};
  if (!length || steps == length)
    return Json::array({line});
  return {line,
          {{"type", "constant"}, {"steps", length - steps}, {"value", to}}};
}

/// A scheduler's factors on a rate, as one piece where it goes on and on.
/// Null: no such scheduler.
Json torchPart(const std::string &name, const Settings &h, double rate,
               int64_t length = 0) {
  double final = h.value("eta_min", 0.0) / rate;
  int64_t total = h.value("total_iters", 5);
  double gamma = h.value("gamma", 0.1);
  Json piece;
  if (name == "LinearLR")
    return torchLine(h.value("warmup", total), h.value("start_factor", 1.0 / 3),
                     h.value("end_factor", 1.0), length);
  if (name == "StepLR")
    piece = {{"type", "step"}, {"period", h.at("step_size")}, {"rate", gamma}};
  else if (name == "MultiStepLR")
    piece = {{"type", "multi_step"},
             {"milestones", h.at("milestones")},
             {"rate", gamma}};
  else if (name == "ExponentialLR")
    piece = {{"type", "exponential"}, {"rate", h.at("gamma")}};
  else if (name == "MultiplicativeLR")
    piece = {{"type", "exponential"}, {"rate", h.at("factor")}};
  else if (name == "ConstantLR" && total == 0) // never lets go
    piece = {{"type", "constant"}, {"value", h.value("factor", 1.0 / 3)}};
  else if (name == "ConstantLR")
    piece = {{"type", "piecewise"},
             {"milestones", {total}},
             {"values", {h.value("factor", 1.0 / 3), 1.0}}};
  else if (name == "PolynomialLR")
    piece = {{"type", "polynomial"},
             {"period", total},
             {"power", h.value("power", 1.0)}};
  else if (name == "CosineAnnealingLR")
    piece = {{"type", "cosine"}, {"period", h.at("T_max")}, {"final", final}};
  else if (name == "CosineAnnealingWarmRestarts")
    piece = {{"type", "cosine_restarts"},
             {"period", h.at("T_0")},
             {"growth", h.value("T_mult", 1)},
             {"final", final}};
  else
    return {};
  if (length)
    piece["steps"] = length;
  return Json::array({piece});
}

/// A scheduler of several others: their names, and the settings of each.
using Parts = std::vector<std::pair<std::string, Settings>>;

/// Those that a list names, each with its own settings, or else the names of
/// the api, "... of A then B" or "... of A and B", with all the settings.
Parts partsOf(llvm::StringRef names, const Settings &h) {
  Parts parts;
  if (h.has("schedulers"))
    for (const Json &each : h.at("schedulers"))
      for (const auto &[name, settings] : each.items())
        parts.emplace_back(name, Settings(settings));
  if (!parts.empty())
    return parts;
  llvm::StringRef between = names.contains(" then ") ? " then " : " and ";
  llvm::SmallVector<llvm::StringRef> all;
  names.split(all, between);
  for (llvm::StringRef name : all)
    parts.emplace_back(name.trim().str(), h);
  return parts;
}

/// Steps at which the next one begins.
std::vector<int64_t> milestonesOf(const Settings &h, size_t parts) {
  if (parts == 2 && h.has("warmup"))
    return {h.at("warmup")};
  if (parts == 2 && h.has("milestone"))
    return {h.at("milestone")};
  return h.at("milestones");
}

/// One after the other, or all at once.
Schedule torchSeveral(llvm::StringRef names, const Settings &h,
                      bool isSequence) {
  double rate = h.number("base_lr");
  Parts parts = partsOf(names, h);
  std::vector<int64_t> ends;
  if (isSequence)
    ends = milestonesOf(h, parts.size());
  if (isSequence && ends.size() + 1 != parts.size())
    throw std::runtime_error("as many milestones as schedulers but one");
  Json all = Json::array();
  int64_t begin = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto &[name, settings] = parts[i];
    int64_t length = i < ends.size() ? ends[i] - begin : 0;
    begin += length;
    Json pieces = torchPart(name, settings, rate, length);
    if (pieces.is_null())
      return {};
    for (const Json &piece : pieces)
      all.push_back(piece);
    if (h.has("schedulers"))
      settings.expectAllRead();
    else
      h.ignore(settings.read());
  }
  if (isSequence)
    return {rate, all};
  return onePiece(rate, {{"type", "product"}, {"factors", all}});
}

Schedule torchSchedule(const std::string &name, const Settings &h) {
  h.ignore({"last_epoch", "verbose"});
  if (name == "OneCycleLR")
    return torchOneCycle(h);
  if (name == "CyclicLR")
    return torchCyclic(h);
  for (llvm::StringRef several : {"SequentialLR", "ChainedScheduler"})
    if (llvm::StringRef rest = name; rest.consume_front(several)) {
      rest.consume_front(" of ");
      return torchSeveral(rest, h, several == "SequentialLR");
    }
  double rate = h.number("base_lr");
  return {rate, torchPart(name, h, rate)};
}

//===-- mindspore.nn ------------------------------------------------------===//

/// MindSpore's lists change once an epoch; so does what it keeps all steps for.
Schedule mindSporeSchedule(const std::string &name, const Settings &h) {
  h.ignore({"total_step"});
  int64_t every = h.value("step_per_epoch", 1);
  if (name == "piecewise_constant_lr")
    return onePiece(1, {{"type", "piecewise"},
                        {"milestones", h.at("milestone")},
                        {"values", h.at("learning_rates")}});
  if (name == "cosine_decay_lr")
    return onePiece(h.number("max_lr"),
                    {{"type", "cosine"},
                     {"every", every},
                     {"steps", h.at("decay_epoch")},
                     {"final", h.number("min_lr") / h.number("max_lr")}});
  double rate = h.number("learning_rate");
  if (name == "warmup_lr")
    return onePiece(rate, {{"type", "linear"},
                           {"every", every},
                           {"steps", h.at("warmup_epoch")},
                           {"initial", 0.0},
                           {"final", 1.0}});
  if (name == "polynomial_decay_lr")
    return onePiece(rate, {{"type", "polynomial"},
                           {"every", every},
                           {"period", h.at("decay_epoch")},
                           {"power", h.at("power")},
                           {"final", h.number("end_learning_rate") / rate},
                           {"cycle", h.value("update_decay_epoch", false)}});
  bool staircase = h.value("is_stair", false);
  Json piece = {{"every", every},
                {"rate", h.at("decay_rate")},
                {"period", h.at("decay_epoch")},
                {"staircase", staircase}};
  if (name == "exponential_decay_lr")
    piece["type"] = "exponential";
  else if (name == "inverse_decay_lr")
    piece["type"] = "inverse_time";
  else if (name == "natural_exp_decay_lr")
    piece["type"] = "natural_exponential";
  else
    return {};
  // MindSpore's natural exponent counts epochs, not periods.
  if (name == "natural_exp_decay_lr") {
    if (staircase)
      piece["rate"] = h.number("decay_rate") * h.number("decay_epoch");
    else
      piece["period"] = 1;
  }
  return onePiece(rate, piece);
}

/// MindSpore's schedules that are computed in the step count steps as the
/// lists above count epochs.
Schedule mindSporeCell(const std::string &name, Json h) {
  static const std::map<std::string, std::string> lists = {
      {"ExponentialDecayLR", "exponential_decay_lr"},
      {"NaturalExpDecayLR", "natural_exp_decay_lr"},
      {"InverseDecayLR", "inverse_decay_lr"},
      {"CosineDecayLR", "cosine_decay_lr"},
      {"PolynomialDecayLR", "polynomial_decay_lr"},
      {"WarmUpLR", "warmup_lr"}};
  for (std::string key : {"decay", "warmup", "update_decay"})
    if (h.contains(key + "_steps")) {
      h[key + "_epoch"] = h[key + "_steps"];
      h.erase(key + "_steps");
    }
  auto list = lists.find(name);
  Settings settings(h);
  Schedule schedule =
      mindSporeSchedule(list == lists.end() ? name : list->second, settings);
  settings.expectAllRead();
  return schedule;
}

/// singa.opt.
Schedule singaSchedule(const std::string &name, const Settings &h) {
  if (name == "Constant")
    return onePiece(h.number("init_value"), {{"type", "constant"}});
  if (name == "ExponentialDecay")
    return onePiece(h.number("init_value"),
                    {{"type", "exponential"},
                     {"period", h.at("decay_steps")},
                     {"rate", h.at("decay_rate")},
                     {"staircase", h.value("staircase", false)}});
  return {};
}

/// A schedule, every setting of which was read.
template <typename Translate>
Schedule readAll(Translate translate, const std::string &name, const Json &h) {
  Settings settings(h);
  Schedule schedule = translate(name, settings);
  if (!schedule.pieces.is_null())
    settings.expectAllRead();
  return schedule;
}

Schedule scheduleOf(const VectorFile &file) {
  const Json &h = file.hyperparameters();
  std::string api = file.api();
  llvm::StringRef name = api;
  if (name.consume_front("torch.optim.lr_scheduler."))
    return readAll(torchSchedule, name.str(), h);
  if (name.consume_front("mindspore.nn."))
    return mindSporeCell(name.str(), h);
  if (name.consume_front("singa.opt."))
    return readAll(singaSchedule, name.str(), h);
  return {};
}

} // namespace

void checkSchedule(const VectorFile &file) {
  Schedule schedule = scheduleOf(file);
  ASSERT_FALSE(schedule.pieces.is_null())
      << "schedule \"" << file.api() << "\" is not known to this test";
  bool isSinga = file.api().find("singa") == 0;
  Json recipe = {
      {"compat", isSinga ? "singa" : "pytorch"},
      {"optimizer", {{"type", "sgd"}, {"learning_rate", schedule.rate}}},
      {"schedule", {{"learning_rate", schedule.pieces}}}};
  Compiled compiled(
      "gradus.program @p attributes {recipe = " + recipeText(recipe) + R"(} {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<f32>) {
    gradus.update @w, %g : tensor<f32>
    gradus.return
  }
})");
  HostTensor zero = zeros(llvm::ArrayRef<int64_t>{}), gradient = zero;
  gradient.floats[0] = -1;
  std::vector<double> rates;
  size_t updates = file.expected().at("lr").at("data").size();
  for (size_t i = 0; i < updates; ++i) {
    compiled.setState("w", zero);
    compiled.run("train", {{"g", gradient}});
    rates.push_back(compiled.states().at("w").floats[0]);
  }
  file.expectNear("learning rate", rates, file.expected().at("lr"));
}

} // namespace gradus::vectors
