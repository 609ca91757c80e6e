// AutoBoost's document as a pure function: which methods it asks for, and what
// the recipe calls them. See boost.h.

#include "frontends/recipe/boost.h"

#include "messages/json_text.h"
#include "messages/message.h"

namespace gradus::recipe {
namespace {

using enum Kind;
using Json = nlohmann::ordered_json;

/// A flag of the document, and the first level that has it.
struct Flag {
  std::string_view name;
  int level; // 3: none
  bool built;
  std::string_view help;
};

constexpr Flag kFlags[] = {
    {"less_bn", 1, true, "fewer batch normalizations; see `less_bn`"},
    {"grad_freeze", 1, true, "steps that leave the first layers as they are"},
    {"adasum", 2, true,
     "gradients of several machines that add up where they agree; alone, a "
     "process has nothing to merge"},
    {"grad_accumulation", 3, true, "see `accumulation`"},
    {"dim_reduce", 3, false, "updates in a subspace"},
    {"loss_scale_group", 3, true,
     "a loss scale for each group of parameters; see `loss_scale`"}};

//===-- fields ------------------------------------------------------------===//

Field flags() {
  const Field mode =
      Field{"mode", choice, "\"auto\"",
            "auto: the level's flags; manual: those that are said here, the "
            "level's otherwise; or all on, or all off"}
          .among({{"auto"}, {"manual"}, {"enable_all"}, {"disable_all"}});
  Fields all = {mode};
  for (const Flag &flag : kFlags)
    all.push_back({flag.name, boolean, "null", flag.help});
  return Field{"boost", object, "{}", "the flags"}.of(all);
}

Field common() {
  const Field index = Field{"", integer, "0", "an index"}.from(0);
  return Field{"common", object, "{}", "for several methods"}.of(
      {Field{"gradient_split_groups", list, "null",
             "indices in the list of parameters at which a new group of "
             "gradients begins; null: in its middle"}
           .of({index})
           .orOne(),
       Field{"device_number", integer, "8", "devices of one server"}.from(1)});
}

Field lessBn() {
  return Field{"less_bn", object, "{}", "of less_bn"}.of(
      {{"fn_flag", boolean, "true", "see `fc_to_fn`"},
       {"gc_flag", boolean, "true", "see `gradient_centralization`"}});
}

Field freezing() {
  return Field{"grad_freeze", object, "{}", "of grad_freeze"}.of(
      {Field{"param_groups", integer, "10", "places to begin from"}.from(1),
       Field{"freeze_type", integer, "1",
             "0: cuts come in turn; 1: they are drawn"}
           .from(0)
           .below(2),
       Field{"freeze_p", number, "0.7", "part of the steps that train all"}
           .from(0)
           .below(1),
       Field{"total_steps", integer, "65536", "steps until it begins again"}
           .from(1)});
}

Field accumulation() {
  return Field{"grad_accumulation", object, "{}", "of grad_accumulation"}.of(
      {Field{"grad_accumulation_step", integer, "1",
             "batches that make one update"}
           .from(1)});
}

/// Numbers between 0 and 1, both left out.
Field inside(std::string_view key, std::string_view fallback,
             std::string_view help) {
  return Field{key, number, fallback, help}.from(1e-12).below(1);
}

Field dimReduction() {
  return Field{"dim_reduce", object, "{}", "of dim_reduce"}.of(
      {inside("rho", "0.55", "of the line search"),
       Field{"gamma", number, "0.9", "of the momentum"}.from(0).below(1),
       Field{"alpha", number, "0.001", "of the line search"}.from(1e-12),
       inside("sigma", "0.4", "of the line search"),
       Field{"n_components", integer, "32", "dimensions of the subspace"}.from(
           1),
       {"pca_mat_path", text, "null", "a file of the projection (.npy)"},
       {"weight_load_dir", text, "null", "a folder of checkpoints"},
       Field{"timeout", integer, "1800", "seconds to wait for the others"}.from(
           1)});
}

/// Has what MindSpore's GroupLossScaleManager is given in code.
Field groupLossScale() {
  const Field scale = Field{"", number, "65536", "a scale"}.from(1e-30);
  return Field{"loss_scale_group", object, "{}", "of loss_scale_group"}.of(
      {Field{"init", list, "[65536]",
             "the first scale of each group, or of all"}
           .of({scale})
           .orOne(),
       Field{"groups", list, "[]", "patterns of the parameters of each group"}
           .of({patterns("", "[]", "the parameters of a group")})});
}

//===-- resolving ---------------------------------------------------------===//

bool isOn(const Flag &flag, const Json &document) {
  const Json &boost = document["boost"];
  std::string mode = boost["mode"], level = document["level"];
  if (mode == "enable_all" || mode == "disable_all")
    return mode == "enable_all";
  if (const Json &said = boost[flag.name]; mode == "manual" && !said.is_null())
    return said;
  return level[1] - '0' >= flag.level;
}

bool has(const Json &document, const char *flag) {
  return document["boost"][flag].get<bool>();
}

/// Returns where the gradients are split; null if the document does not say.
Json splitsOf(const Json &document) {
  const Json common = document.value("common", Json::object());
  return common.value("gradient_split_groups", Json());
}

/// Adds the keys of less_bn and of the methods that it switches on.
void addLessBn(const Json &document, Json &keys) {
  keys["less_bn"] = Json::object();
  if (document["less_bn"]["fn_flag"])
    keys["fc_to_fn"] = Json::object();
  if (document["less_bn"]["gc_flag"])
    keys["gradient_centralization"] = {{"compat", document["compat"]}};
}

Json freezingKey(const Json &document) {
  const Json &own = document["grad_freeze"];
  return {{"groups", own["param_groups"]},
          {"type", own["freeze_type"]},
          {"p", own["freeze_p"]},
          {"total_steps", own["total_steps"]},
          {"compat", document["compat"]}};
}

Json groupScaleKey(const Json &document) {
  const Json &own = document["loss_scale_group"];
  return {
      {"type", "group"}, {"groups", own["groups"]}, {"initial", own["init"]}};
}

/// The keys of the methods that a resolved document switches on.
Json keysOf(const Json &document) {
  Json keys = Json::object();
  if (has(document, "less_bn"))
    addLessBn(document, keys);
  if (has(document, "grad_freeze"))
    keys["gradient_freeze"] = freezingKey(document);
  if (has(document, "grad_accumulation"))
    keys["accumulation"] =
        document["grad_accumulation"]["grad_accumulation_step"];
  if (has(document, "loss_scale_group"))
    keys["loss_scale"] = groupScaleKey(document);
  if (Json splits = splitsOf(document);
      has(document, "less_bn") && !splits.is_null())
    keys["distribution"] = {{"gradient_splits", splits}};
  return keys;
}

/// Whether a recipe leaves a key to the document: what `gradus recipe` prints
/// for a key that nobody wrote says nothing either.
bool isUnsaid(const Json &recipe, const std::string &key) {
  auto said = recipe.find(key);
  return said == recipe.end() || said->is_null() ||
         (key == "accumulation" && *said == 1);
}

/// `accumulation is 3, which wins over boost's 4`
void compare(const std::string &path, const Json &own, const Json &document,
             std::vector<std::string> &differences) {
  if (!document.is_null() && own != document)
    differences.push_back(message(path, " is ", jsonText(own),
                                  ", which wins over boost's ",
                                  jsonText(document)));
}

} // namespace

Field boost() {
  const Field level =
      Field{"level", choice, "\"O0\"",
            "O1: less_bn and grad_freeze; O2: adasum besides; O0: none"}
          .among({{"O0"}, {"O1"}, {"O2"}});
  return Field{"boost", object, "\"O0\"",
               "MindSpore's AutoBoost document, or its level alone"}
      .of({level, flags(), common(), lessBn(), freezing(), accumulation(),
           dimReduction(), groupLossScale(), compat("instead of the recipe's")})
      .shortFor("level")
      .flagged();
}

Json resolvedBoost(Json document) {
  Json flags = document["boost"];
  for (const Flag &flag : kFlags)
    flags[flag.name] = isOn(flag, document);
  document["boost"] = flags;
  return document;
}

std::vector<UnbuiltBoost> unbuiltBoosts(const Json &document) {
  std::vector<UnbuiltBoost> unbuilt;
  for (const Flag &flag : kFlags)
    if (!flag.built && document["boost"][flag.name])
      unbuilt.push_back(
          {message("boost.boost.", flag.name),
           message("is on at level ", document["level"].get<std::string>(),
                   " in mode ", document["boost"]["mode"].get<std::string>(),
                   ", and not built yet; mode \"manual\" with \"", flag.name,
                   "\": false goes without")});
  return unbuilt;
}

std::optional<UnbuiltBoost> groupsMissing(const Json &document,
                                          const Json &recipe) {
  const Json &scale = recipe.at("loss_scale");
  if (!has(document, "loss_scale_group") || !scale.is_object() ||
      scale.at("type") != "group" || !scale.at("groups").empty())
    return std::nullopt;
  return UnbuiltBoost{
      "boost.boost.loss_scale_group",
      "is on, and no groups are said, which MindSpore is given in code; write "
      "patterns of each group's parameters as boost.loss_scale_group.groups, "
      "such as [[\"conv*\"], [\"fc*\"]], or as loss_scale.groups"};
}

void addBoostedKeys(const Json &document, Json &recipe) {
  const Json keys = keysOf(document);
  for (const auto &[key, value] : keys.items())
    if (isUnsaid(recipe, key))
      recipe[key] = value;
    else if (Json &own = recipe[key]; key == "distribution" &&
                                      own.is_object() &&
                                      isUnsaid(own, "gradient_splits"))
      own.update(value);
}

std::vector<std::string> boostRemarks(const Json &document,
                                      const Json &recipe) {
  std::vector<std::string> remarks;
  const Json keys = keysOf(document);
  for (const auto &[key, value] : keys.items()) {
    const Json &own = recipe.at(key);
    if (own.is_boolean())
      remarks.push_back(key + " is false, which wins over boost");
    else if (!value.is_object())
      compare(key, own, value, remarks);
    else if (value.contains("type") && own.at("type") != value.at("type"))
      compare(key + ".type", own.at("type"), value.at("type"), remarks);
    else
      for (const auto &[part, said] : value.items())
        compare(key + "." + part, own.at(part), said, remarks);
  }
  if (!has(document, "less_bn") && !splitsOf(document).is_null())
    remarks.push_back("boost.common.gradient_split_groups changes nothing, "
                      "because boost's less_bn is off");
  if (has(document, "adasum"))
    remarks.push_back("boost's adasum changes nothing: there is one process, "
                      "which has nothing to merge");
  if (document.at("common").at("device_number") != 8)
    remarks.push_back("boost.common.device_number changes nothing: there is "
                      "one process");
  return remarks;
}

std::vector<std::string> passedOverFlags(const Json &document) {
  std::vector<std::string> remarks;
  const Json &boost = document["boost"];
  std::string mode = boost["mode"], level = document["level"];
  for (const Flag &flag : kFlags)
    if (const Json &said = boost[flag.name];
        !said.is_null() && said.get<bool>() != isOn(flag, document))
      remarks.push_back(
          message("boost.boost.", flag.name, " is ", jsonText(said),
                  " without effect: mode \"", mode, "\" ",
                  mode == "auto" ? message("takes the flags of level ", level)
                                 : "sets all flags alike",
                  "; mode \"manual\" takes those that are said"));
  return remarks;
}

bool boostsAnything(const Json &document) {
  for (const Flag &flag : kFlags)
    if (document["boost"][flag.name])
      return true;
  return false;
}

} // namespace gradus::recipe
