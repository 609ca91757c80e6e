// Turns the optimizer `thor` into the keys that it is short for; see thor.h.

#include "frontends/recipe/thor.h"

#include "frontends/recipe/overrides.h"
#include "messages/json_text.h"
#include "messages/message.h"
#include "passes/methods/clip_gradients.h"
#include "passes/optimizers/sgd.h"
#include "passes/preconditioning.h"

#include <algorithm>

namespace gradus::recipe {
namespace {

using enum Kind;
using Json = nlohmann::ordered_json;

constexpr const char *kThor = "thor";

//===-- presets -----------------------------------------------------------===//

/// Keys of `thor` that a preset gives other defaults, and of the recipe:
/// `weight_decay_for`, and those of `schedule`.
struct Preset {
  std::string_view name;
  Json keys;
};

/// A piece that counts epochs with their parts, each update where it ends.
Json byEpochs(Json piece) {
  piece["interval"] = "smooth_epoch";
  piece["at_end"] = true;
  return piece;
}

/// The formulas of MindSpore's ResNet-50, with e epochs done: the learning rate
/// times (1 - e / end)^power, halved at epochs 39 and 40, and the damping times
/// rate^(e / 10).
Json resnet(double learningRate, double end, double power, double damping,
            double rate, bool perSample) {
  Json falls =
      byEpochs({{"type", "polynomial"}, {"period", end}, {"power", power}});
  Json halves = byEpochs(
      {{"type", "multi_step"}, {"milestones", {39, 40}}, {"rate", 0.5}});
  Json product = {{"type", "product"},
                  {"factors", Json::array({falls, halves})}};
  Json fades =
      byEpochs({{"type", "exponential"}, {"period", 10}, {"rate", rate}});
  return {{"learning_rate", learningRate},
          {"weight_decay", 5e-4},
          {"damping", damping},
          {"per_sample", perSample},
          {"refresh", {{"every", 834}}},
          {"schedule",
           {{"learning_rate", Json::array({product})},
            {"damping", Json::array({fades})}}}};
}

/// The formula of MindSpore's BERT: a power of what is left of 30,000 updates,
/// down to 1e-6.
Json untilUpdates(double initial, double power) {
  return Json::array({{{"type", "polynomial"},
                       {"period", 30000},
                       {"power", power},
                       {"final", 1e-6 / initial}}});
}

Json bert() {
  constexpr double rate = 0.006464, damping = 0.007035;
  return {{"learning_rate", rate},
          {"damping", damping},
          {"per_sample", true},
          {"refresh", {{"every", 100}}},
          {"weight_decay_for", "matrices"}, // not LayerNorms, nor biases
          {"schedule",
           {{"learning_rate", untilUpdates(rate, 2)},
            {"damping", untilUpdates(damping, 4)}}}};
}

/// Factors are those of the device whose numbers these are, whatever `compat`
/// says: of GPUs those of the mean sample.
const std::vector<Preset> &presets() {
  static const std::vector<Preset> all = {
      {"resnet50_gpu", resnet(0.05672, 50, 4.9687, 0.02345, 0.5467, false)},
      {"resnet50_ascend", resnet(0.05803, 53, 4.0839, 0.03, 0.50036, true)},
      {"bert", bert()}};
  return all;
}

//===-- keys --------------------------------------------------------------===//

Fields sgdsKeys() {
  Fields keys = sgdKeys("0.01");
  for (Field &key : keys)
    if (key.key == "momentum")
      key.fallback = "0.9";
  return keys + commonKeys();
}

/// The keys of `precondition`, but for the one that the optimizer has.
Fields preconditionKeys() {
  Fields keys = preconditioning().field.choices.front().fields;
  std::erase_if(keys, [](const Field &key) { return key.key == "compat"; });
  for (Field &key : keys)
    key.isSettable = false; // as precondition.damping
  return keys;
}

Fields thorKeys() {
  std::vector<Choice> names;
  for (const Preset &preset : presets())
    names.emplace_back(preset.name);
  const Field preset =
      Field{"preset", choice, "null",
            "the numbers and schedules of a model of MindSpore, where the "
            "recipe has no others"}
          .among(names);
  const Field clips =
      Field{"clip_update", number, "null",
            "bound of the norm of each parameter's update, behind decay"}
          .positive();
  return Fields{preset} + sgdsKeys() +
         Fields{clips, patterns("decay_filter", "[]",
                                "parameters that do not decay")} +
         preconditionKeys();
}

//===-- expansion ---------------------------------------------------------===//

/// A key of the recipe that says what `thor` says, too; empty where none does.
std::string conflictIn(const Json &recipe) {
  auto isSaid = [](const Json &object, const char *key) {
    return object.is_object() && !object.value(key, Json()).is_null();
  };
  if (isSaid(recipe, "precondition"))
    return "precondition";
  return isSaid(recipe, "clip_update") &&
                 isSaid(recipe["optimizer"], "clip_update")
             ? "clip_update"
             : "";
}

/// The keys of `thor` as the user, else the preset says them.
Json saidKeys(const Json &optimizer) {
  Json said = Json::object();
  std::string name = optimizer.value("preset", Json()).is_string()
                         ? optimizer["preset"].get<std::string>()
                         : "";
  for (const Preset &preset : presets())
    if (preset.name == name)
      said = preset.keys;
  for (const auto &[key, value] : optimizer.items())
    if (value.is_null())
      continue;
    else if (said.contains(key) && said[key].is_object() && value.is_object())
      said[key].update(value);
    else
      said[key] = value;
  return said;
}

/// Returns the keys of sgd that are said, and defaults that sgd does not have.
Json sgdOf(const Json &said) {
  Json optimizer = {{"type", "sgd"}};
  for (const Field &key : sgdsKeys())
    if (said.contains(key.key))
      optimizer[key.key] = said[key.key];
  for (const Field &key : sgdsKeys())
    if ((key.key == "learning_rate" || key.key == "momentum") &&
        !optimizer.contains(key.key))
      optimizer[key.key] = Json::parse(key.fallback);
  return optimizer;
}

Json preconditionOf(const Json &said) {
  Json precondition = {{"type", kThor}};
  for (const Field &key : preconditioning().field.choices.front().fields)
    if (said.contains(key.key))
      precondition[key.key] = said[key.key];
  return precondition;
}

/// Returns what `clip_update` becomes. It has no `compat` of its own, so that
/// of the optimizer is written out.
Json clipOf(const Json &said) {
  Json clip = {{"type", "norm"}, {"value", said["clip_update"]}};
  if (!said.contains("compat"))
    return clip;
  for (const Choice &type : clipUpdate().field.choices)
    if (type.name == "norm")
      for (const Field &key : type.fields)
        if (!clip.contains(key.key))
          clip[key.key] =
              Json::parse(key.fallbackUnder(said["compat"].get<std::string>()));
  return clip;
}

/// Adds the pieces of hyperparameters that the recipe does not schedule.
void addSchedules(Json &recipe, const Json &pieces) {
  if (recipe.value("schedule", Json()).is_null())
    recipe["schedule"] = Json::object();
  Json &schedule = recipe["schedule"];
  if (!schedule.is_object())
    return;
  for (const auto &[name, each] : pieces.items())
    if (Json own = schedule.value(name, Json()); own.is_null() || own.empty())
      schedule[name] = each;
}

/// Adds what says which parameters decay: a group in front of the recipe's,
/// which win, or the word of a preset. Returns what is said without effect.
std::vector<std::string> addFilter(Json &recipe, const Json &said) {
  const Json patterns = said.value("decay_filter", Json::array());
  if (patterns.empty()) {
    if (said.contains("weight_decay_for") &&
        recipe.value("weight_decay_for", Json()).is_null())
      recipe["weight_decay_for"] = said["weight_decay_for"];
    return {};
  }
  if (said.value("weight_decay", Json(0.0)) == 0.0)
    return {message("optimizer.decay_filter is ", jsonText(patterns),
                    " without effect: optimizer.weight_decay is 0")};
  Json groups = Json::array({{{"match", patterns}, {"weight_decay", 0.0}}});
  const Json own = recipe.value("groups", Json::array());
  if (!own.is_array())
    return {};
  groups.insert(groups.end(), own.begin(), own.end());
  recipe["groups"] = groups;
  return {};
}

} // namespace

Field withThor(Field optimizer) {
  optimizer.choices.emplace_back(kThor, thorKeys());
  optimizer.definition = "optimizer_of_recipe";
  return optimizer;
}

bool hasThor(const Json &recipe) {
  Json optimizer = recipe.value("optimizer", Json());
  return optimizer == kThor ||
         (optimizer.is_object() && optimizer.value("type", Json()) == kThor);
}

std::vector<std::string> expandThor(Json &recipe) {
  if (recipe["optimizer"].is_string())
    recipe["optimizer"] = {{"type", kThor}};
  if (!conflictIn(recipe).empty())
    return {};
  Json said = saidKeys(recipe["optimizer"]);
  recipe["optimizer"] = sgdOf(said);
  recipe["precondition"] = preconditionOf(said);
  if (said.contains("clip_update"))
    recipe["clip_update"] = clipOf(said);
  if (said.contains("schedule"))
    addSchedules(recipe, said["schedule"]);
  return addFilter(recipe, said);
}

std::optional<Mistake> thorMistake(const Json &recipe) {
  if (!hasThor(recipe))
    return std::nullopt;
  std::string key = conflictIn(recipe);
  if (key.empty())
    return std::nullopt;
  if (recipe[key] == false)
    return Mistake{key, "is false, but the optimizer thor is short for it, "
                        "too; let optimizer.type be \"sgd\""};
  return Mistake{key, "stands beside the optimizer thor, which is short for "
                      "it; write its keys in `optimizer`, or let "
                      "optimizer.type be \"sgd\""};
}

} // namespace gradus::recipe
