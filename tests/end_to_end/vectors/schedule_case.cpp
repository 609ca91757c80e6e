// Learning-rate schedules of other frameworks as pieces of ours, seen in how
// far a compiled step of plain descent moves.

#include "vector_file.h"

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

Schedule torchOneCycle(const Json &h) {
  double initial = 1 / h.value("div_factor", 25.0);
  return onePiece(
      h["max_lr"],
      {{"type", "one_cycle"},
       {"steps", h["total_steps"]},
       {"rise", h.value("pct_start", 0.3)},
       {"initial", initial},
       {"final", initial / h.value("final_div_factor", 1e4)},
       {"shape",
        h.value("anneal_strategy", "cos") == "cos" ? "cosine" : "linear"},
       {"three_phase", h.value("three_phase", false)}});
}

Schedule torchSequence(const Json &h) {
  double rate = h["base_lr"];
  Json warmup = {{"type", "linear"},
                 {"steps", h["warmup"]},
                 {"initial", h["start_factor"]},
                 {"final", h.value("end_factor", 1.0)}};
  Json cosine = {{"type", "cosine"},
                 {"period", h["T_max"]},
                 {"final", h["eta_min"].get<double>() / rate}};
  return {rate, {warmup, cosine}};
}

Schedule torchSchedule(const std::string &name, const Json &h) {
  if (name.find("SequentialLR of LinearLR then CosineAnnealingLR") != name.npos)
    return torchSequence(h);
  if (name == "OneCycleLR")
    return torchOneCycle(h);
  double rate = h["base_lr"];
  auto least = [&] { return h.value("eta_min", 0.0) / rate; };
  if (name == "StepLR")
    return onePiece(rate, {{"type", "step"},
                           {"period", h["step_size"]},
                           {"rate", h.value("gamma", 0.1)}});
  if (name == "MultiStepLR")
    return onePiece(rate, {{"type", "multi_step"},
                           {"milestones", h["milestones"]},
                           {"rate", h.value("gamma", 0.1)}});
  if (name == "ExponentialLR")
    return onePiece(rate, {{"type", "exponential"}, {"rate", h["gamma"]}});
  if (name == "LinearLR")
    return onePiece(rate, {{"type", "linear"},
                           {"steps", h.value("total_iters", 5)},
                           {"initial", h.value("start_factor", 1.0 / 3)},
                           {"final", h.value("end_factor", 1.0)}});
  if (name == "ConstantLR")
    return {rate,
            {{{"type", "constant"},
              {"steps", h.value("total_iters", 5)},
              {"value", h.value("factor", 1.0 / 3)}},
             {{"type", "constant"}}}};
  if (name == "PolynomialLR")
    return onePiece(rate, {{"type", "polynomial"},
                           {"steps", h.value("total_iters", 5)},
                           {"power", h.value("power", 1.0)}});
  if (name == "CosineAnnealingLR")
    return onePiece(
        rate, {{"type", "cosine"}, {"period", h["T_max"]}, {"final", least()}});
  if (name == "CosineAnnealingWarmRestarts")
    return onePiece(rate, {{"type", "cosine_restarts"},
                           {"period", h["T_0"]},
                           {"growth", h.value("T_mult", 1)},
                           {"final", least()}});
  return {};
}

//===-- mindspore.nn ------------------------------------------------------===//

/// MindSpore's lists change once an epoch; so does what it keeps all steps for.
Schedule mindSporeSchedule(const std::string &name, const Json &h) {
  int64_t every = h.value("step_per_epoch", 1);
  if (name == "piecewise_constant_lr")
    return onePiece(1, {{"type", "piecewise"},
                        {"milestones", h["milestone"]},
                        {"values", h["learning_rates"]}});
  if (name == "cosine_decay_lr")
    return onePiece(h["max_lr"], {{"type", "cosine"},
                                  {"every", every},
                                  {"steps", h["decay_epoch"]},
                                  {"final", h["min_lr"].get<double>() /
                                                h["max_lr"].get<double>()}});
  double rate = h["learning_rate"];
  if (name == "warmup_lr")
    return onePiece(rate, {{"type", "linear"},
                           {"every", every},
                           {"steps", h["warmup_epoch"]},
                           {"initial", 0.0},
                           {"final", 1.0}});
  if (name == "polynomial_decay_lr")
    return onePiece(rate,
                    {{"type", "polynomial"},
                     {"every", every},
                     {"period", h["decay_epoch"]},
                     {"power", h["power"]},
                     {"final", h["end_learning_rate"].get<double>() / rate},
                     {"cycle", h.value("update_decay_epoch", false)}});
  bool staircase = h.value("is_stair", false);
  Json piece = {{"every", every},
                {"rate", h["decay_rate"]},
                {"period", h["decay_epoch"]},
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
      piece["rate"] =
          h["decay_rate"].get<double>() * h["decay_epoch"].get<double>();
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
    if (h.contains(key + "_steps"))
      h[key + "_epoch"] = h[key + "_steps"];
  auto list = lists.find(name);
  return mindSporeSchedule(list == lists.end() ? name : list->second, h);
}

/// singa.opt.
Schedule singaSchedule(const std::string &name, const Json &h) {
  if (name == "ExponentialDecay")
    return onePiece(h["init_value"],
                    {{"type", "exponential"},
                     {"period", h["decay_steps"]},
                     {"rate", h["decay_rate"]},
                     {"staircase", h.value("staircase", false)}});
  return {};
}

Schedule scheduleOf(const VectorFile &file) {
  const Json &h = file.hyperparameters();
  std::string api = file.api();
  struct Module {
    std::string name;
    Schedule (*translate)(const std::string &, const Json &);
  };
  for (const Module &module :
       {Module{"torch.optim.lr_scheduler.", torchSchedule},
        Module{"mindspore.nn.",
               [](const std::string &name, const Json &h) {
                 return mindSporeCell(name, h);
               }},
        Module{"singa.opt.", singaSchedule}})
    if (api.find(module.name) == 0)
      return module.translate(api.substr(module.name.size()), h);
  return {};
}

} // namespace

void checkSchedule(const VectorFile &file) {
  Schedule schedule = scheduleOf(file);
  ASSERT_FALSE(schedule.pieces.is_null())
      << "schedule \"" << file.api() << "\" is not known to this test";
  Json recipe = {
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
  size_t updates = file.expected()["lr"]["data"].size();
  for (size_t i = 0; i < updates; ++i) {
    compiled.setState("w", zero);
    compiled.run("train", {{"g", gradient}});
    rates.push_back(compiled.states().at("w").floats[0]);
  }
  file.expectNear("learning rate", rates, file.expected()["lr"]);
}

} // namespace gradus::vectors
