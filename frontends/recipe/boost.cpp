// AutoBoost's document as a pure function: which methods it asks for, and what
// the recipe calls them. See boost.h.

#include "frontends/recipe/boost.h"

#include "frontends/recipe/fields.h"
#include "messages/json_text.h"
#include "messages/message.h"
#include "passes/distribution.h"

namespace gradus::recipe {
namespace {

using enum Kind;
using Json = nlohmann::ordered_json;

/// A flag of the document, and the first level that has it.
struct Flag {
  std::string_view name;
  int level; // 3: none
  std::string_view help;
};

constexpr std::string_view kDimReduce = "dim_reduce";

constexpr Flag kFlags[] = {
    {"less_bn", 1, "fewer batch normalizations; see `less_bn`"},
    {"grad_freeze", 1, "steps that leave the first layers as they are"},
    {"adasum", 2,
     "what updates of several processes change, as a sum where it is "
     "orthogonal and a mean where it is equal; see `distribution.adasum`"},
    {"grad_accumulation", 3, "see `accumulation`"},
    {kDimReduce, 3,
     "steps in the subspace of earlier checkpoints, which switches the other "
     "flags off; see `dim_reduce`"},
    {"loss_scale_group", 3,
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
       Field{"device_number", integer, "8",
             "devices of one server; see `distribution.adasum.within`"}
           .from(1)});
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
  return Field{kDimReduce, object, "{}", "of dim_reduce"}.of(
      {inside("rho", "0.55", "see `dim_reduce.contraction`"),
       Field{"gamma", number, "0.9", "of sgd; see `optimizer.momentum`"}
           .from(0)
           .below(1),
       Field{"alpha", number, "0.001", "of sgd; see `optimizer.learning_rate`"}
           .from(1e-12),
       inside("sigma", "0.4", "see `dim_reduce.sufficient_decrease`"),
       Field{"n_components", integer, "32", "see `dim_reduce.components`"}.from(
           1),
       {"pca_mat_path", text, "null", "see `dim_reduce.basis`"},
       {"weight_load_dir", text, "null",
        "a folder of checkpoints; `gradus basis` makes a basis of them"},
       Field{"timeout", integer, "1800",
             "seconds to wait for other processes; nothing waits"}
           .from(1)});
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

/// Whether mode and level switch a flag on.
bool isAsked(const Flag &flag, const Json &document) {
  const Json &boost = document["boost"];
  std::string mode = boost["mode"], level = document["level"];
  if (mode == "enable_all" || mode == "disable_all")
    return mode == "enable_all";
  if (const Json &said = boost[flag.name]; mode == "manual" && !said.is_null())
    return said;
  return level[1] - '0' >= flag.level;
}

/// Whether dim_reduce is on, which switches the others off. A recipe's own
/// `"dim_reduce": false` wins.
bool isReduced(const Json &document, const Json &recipe) {
  if (recipe.value("dim_reduce", Json()) == false)
    return false;
  for (const Flag &flag : kFlags)
    if (flag.name == kDimReduce)
      return isAsked(flag, document);
  return false;
}

bool isOn(const Flag &flag, const Json &document, const Json &recipe) {
  return isAsked(flag, document) &&
         (flag.name == kDimReduce) == isReduced(document, recipe);
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

/// Whether several processes share the work, by a recipe that may be as it was
/// written.
bool isShared(const Json &recipe) {
  const Json shared = recipe.value("distribution", Json());
  return (shared.is_object() ? shared.value("mode", Json()) : shared) ==
         "data_parallel";
}

/// The keys of `distribution`.
Json sharedKeys(const Json &document, bool isShared) {
  Json keys = Json::object();
  if (Json splits = splitsOf(document);
      has(document, "less_bn") && !splits.is_null())
    keys["gradient_splits"] = splits;
  if (has(document, "adasum") && isShared) {
    const Json common = document.value("common", Json::object());
    keys["reduce"] = "adasum";
    keys["adasum"] = {{"of", "weights"},
                      {"within", common.value("device_number", 8)}};
    if (document.at("compat") == "mindspore")
      keys["adasum"]["epsilon"] = 1e-12;
  }
  return keys;
}

Json dimReduceKey(const Json &document) {
  const Json &own = document["dim_reduce"];
  return {{"basis", own["pca_mat_path"]},
          {"components", own["n_components"]},
          {"contraction", own["rho"]},
          {"sufficient_decrease", own["sigma"]}};
}

/// The optimizer of what dim_reduce leaves: MindSpore's own momentum.
Json restOptimizer(const Json &document) {
  const Json &own = document["dim_reduce"];
  return {{"type", "sgd"},
          {"learning_rate", own["alpha"]},
          {"momentum", own["gamma"]}};
}

/// The keys of the methods that a resolved document switches on.
Json keysOf(const Json &document, bool isShared) {
  Json keys = Json::object();
  if (has(document, "less_bn"))
    addLessBn(document, keys);
  if (has(document, "grad_freeze"))
    keys["gradient_freeze"] = freezingKey(document);
  if (has(document, "grad_accumulation"))
    keys["accumulation"] =
        document["grad_accumulation"]["grad_accumulation_step"];
  if (has(document, "dim_reduce")) {
    keys["dim_reduce"] = dimReduceKey(document);
    keys["optimizer"] = restOptimizer(document);
  }
  if (has(document, "loss_scale_group"))
    keys["loss_scale"] = groupScaleKey(document);
  if (Json shared = sharedKeys(document, isShared); !shared.empty())
    keys["distribution"] = shared;
  return keys;
}

/// Whether a recipe leaves a key to the document: what `gradus recipe` prints
/// for a key that nobody wrote says nothing either.
bool isUnsaid(const Json &recipe, const std::string &key) {
  auto said = recipe.find(key);
  return said == recipe.end() || said->is_null() ||
         (key == "accumulation" && *said == 1) ||
         (key == "reduce" && *said == "plain");
}

/// Adds keys of objects within an object.
void addUnsaid(const Json &keys, Json &own) {
  for (const auto &[key, value] : keys.items())
    if (isUnsaid(own, key))
      own[key] = value;
    else if (own[key].is_object() && value.is_object())
      addUnsaid(value, own[key]);
}

/// Takes out of `adasum` what `gradus recipe` prints where nobody wrote it.
void dropPrinted(Json &adasum, const std::string &framework) {
  for (const Field &field : distributionKey().fields)
    if (field.key == "adasum")
      for (const Field &own : field.fields)
        if (adasum.value(own.key, Json()) ==
            Json::parse(own.fallbackUnder(framework)))
          adasum.erase(std::string(own.key));
}

/// Adds the keys of `distribution`. If ranks reduce in another way than AdaSum,
/// that wins. Where "plain" is printed, printed keys of AdaSum say nothing,
/// too.
void addShared(Json keys, const Json &recipe, Json &own) {
  if (own.is_string())
    own = {{"mode", own}};
  if (!own.is_object())
    return;
  if (!isUnsaid(own, "reduce") && own["reduce"] != "adasum") {
    keys.erase("reduce");
    keys.erase("adasum");
  }
  if (auto adasum = own.find("adasum");
      own.value("reduce", Json()) == "plain" && adasum != own.end() &&
      adasum->is_object())
    dropPrinted(*adasum, frameworkOf(recipe, own));
  addUnsaid(keys, own);
}

/// `accumulation is 3, which wins over boost's 4`
void compare(const std::string &path, const Json &own, const Json &document,
             std::vector<std::string> &differences) {
  if (!document.is_null() && own != document)
    differences.push_back(message(path, " is ", jsonText(own),
                                  ", which wins over boost's ",
                                  jsonText(document)));
}

/// The same of all keys of an object, but those of AdaSum where ranks reduce in
/// another way.
void compareAll(const std::string &path, const Json &own, const Json &document,
                std::vector<std::string> &differences) {
  for (const auto &[key, said] : document.items())
    if (!said.is_object())
      compare(path + "." + key, own.at(key), said, differences);
    else if (own.value("reduce", Json()) == "adasum")
      compareAll(path + "." + key, own.at(key), said, differences);
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

std::string flagOfSection(std::string_view path) {
  for (const Flag &flag : kFlags)
    if (path == message("boost.", flag.name))
      return message("boost.boost.", flag.name);
  return "";
}

Json resolvedBoost(Json document, const Json &recipe) {
  Json flags = document["boost"];
  for (const Flag &flag : kFlags)
    flags[flag.name] = isOn(flag, document, recipe);
  document["boost"] = flags;
  return document;
}

/// Adds a mistake where groups have scales and nobody says which groups.
static void checkGroups(const Json &document, const Json &recipe,
                        std::vector<BoostMistake> &mistakes) {
  const Json &scale = recipe.at("loss_scale");
  if (has(document, "loss_scale_group") && scale.is_object() &&
      scale.at("type") == "group" && scale.at("groups").empty())
    mistakes.push_back(
        {"boost.boost.loss_scale_group",
         "is on, and no groups are said, which MindSpore is given in code; "
         "write patterns of each group's parameters as "
         "boost.loss_scale_group.groups, such as [[\"conv*\"], [\"fc*\"]], or "
         "as loss_scale.groups"});
}

/// Adds a mistake where no file is said from which a basis can be read:
/// MindSpore computes one while it trains, of files that only it reads.
static void checkBasis(const Json &document, const Json &recipe,
                       std::vector<BoostMistake> &mistakes) {
  const Json &reduction = recipe.at("dim_reduce");
  if (!has(document, "dim_reduce") || !reduction.is_object())
    return;
  const Json &basis = reduction.at("basis");
  const std::string section = "boost.dim_reduce.";
  if (basis.is_string() && basis.get<std::string>().ends_with(".npy"))
    mistakes.push_back(
        {section + "pca_mat_path",
         message("is ", jsonText(basis),
                 ", a matrix without names; `gradus basis ARTIFACT --from-npy "
                 "MATRIX.npy -o basis.safetensors` makes a basis of it, whose "
                 "file is to be named here")});
  else if (basis.is_null() &&
           !document["dim_reduce"]["weight_load_dir"].is_null())
    mistakes.push_back(
        {section + "weight_load_dir",
         "is not read while a model is compiled; `gradus basis ARTIFACT "
         "CHECKPOINT... --components K -o basis.safetensors` makes a basis of "
         "checkpoints, whose file is to be named as "
         "boost.dim_reduce.pca_mat_path"});
  else if (basis.is_null())
    mistakes.push_back(
        {"boost.boost.dim_reduce",
         "is on, and no basis is said; name a file of `gradus basis` as "
         "boost.dim_reduce.pca_mat_path, or as dim_reduce.basis"});
}

std::vector<BoostMistake> boostMistakes(const Json &document,
                                        const Json &recipe) {
  std::vector<BoostMistake> mistakes;
  checkGroups(document, recipe, mistakes);
  checkBasis(document, recipe, mistakes);
  return mistakes;
}

std::string overriddenReduce(const Json &given, const Json &recipe) {
  const Json shared = given.value("distribution", Json());
  bool isOverridden = shared.is_object() &&
                      shared.value("reduce", Json()) == "plain" &&
                      recipe.at("distribution").at("reduce") == "adasum";
  return isOverridden ? "distribution.reduce is \"plain\", which is also what "
                        "nobody said, and so boost's \"adasum\" wins over it; "
                        "boost.boost.mode \"manual\" and "
                        "boost.boost.adasum false leave that out"
                      : "";
}

void addBoostedKeys(const Json &document, Json &recipe) {
  Json keys = keysOf(document, isShared(recipe));
  for (const auto &[key, value] : keys.items())
    if (isUnsaid(recipe, key))
      recipe[key] = value;
    else if (key == "distribution")
      addShared(value, recipe, recipe[key]);
}

/// Adds a remark for each key of dim_reduce that was said and changes nothing.
static void addIdleReduction(const Json &own,
                             std::vector<std::string> &remarks) {
  if (own.at("timeout") != 1800)
    remarks.push_back("boost.dim_reduce.timeout changes nothing: a basis is "
                      "read when a model is compiled, and nothing waits");
  if (!own.at("weight_load_dir").is_null())
    remarks.push_back("boost.dim_reduce.weight_load_dir changes nothing: the "
                      "basis is that of dim_reduce.basis");
}

std::vector<std::string> boostRemarks(const Json &document,
                                      const Json &recipe) {
  std::vector<std::string> remarks;
  const Json keys = keysOf(document, isShared(recipe));
  for (const auto &[key, value] : keys.items()) {
    const Json &own = recipe.at(key);
    if (own.is_boolean())
      remarks.push_back(key + " is false, which wins over boost");
    else if (!value.is_object())
      compare(key, own, value, remarks);
    else if (value.contains("type") && own.at("type") != value.at("type"))
      compare(key + ".type", own.at("type"), value.at("type"), remarks);
    else
      compareAll(key, own, value, remarks);
  }
  if (!has(document, "less_bn") && !splitsOf(document).is_null())
    remarks.push_back("boost.common.gradient_split_groups changes nothing, "
                      "because boost's less_bn is off");
  if (has(document, "adasum") && !isShared(recipe))
    remarks.push_back("boost's adasum changes nothing: there is one process, "
                      "which has nothing to merge");
  if (document.at("common").at("device_number") != 8 &&
      !(isShared(recipe) && has(document, "adasum")))
    remarks.push_back(message("boost.common.device_number changes nothing: ",
                              isShared(recipe) ? "boost's adasum is off"
                                               : "there is one process"));
  if (has(document, "dim_reduce"))
    addIdleReduction(document.at("dim_reduce"), remarks);
  return remarks;
}

std::vector<std::string> passedOverFlags(const Json &document,
                                         const Json &recipe) {
  std::vector<std::string> remarks, reduced;
  const Json &boost = document["boost"];
  std::string mode = boost["mode"], level = document["level"];
  for (const Flag &flag : kFlags) {
    bool isAsked = recipe::isAsked(flag, document);
    if (isAsked && !isOn(flag, document, recipe) && flag.name == kDimReduce)
      remarks.push_back("dim_reduce is false, which wins over boost");
    else if (isAsked && !isOn(flag, document, recipe))
      reduced.push_back(std::string(flag.name));
    else if (const Json &said = boost[flag.name];
             !said.is_null() && said.get<bool>() != isAsked)
      remarks.push_back(
          message("boost.boost.", flag.name, " is ", jsonText(said),
                  " without effect: mode \"", mode, "\" ",
                  mode == "auto" ? message("takes the flags of level ", level)
                                 : "sets all flags alike",
                  "; mode \"manual\" takes those that are said"));
  }
  if (!reduced.empty())
    remarks.push_back(message("boost's dim_reduce switches the others off: ",
                              joined(reduced, ", ")));
  return remarks;
}

bool boostsAnything(const Json &document) {
  for (const Flag &flag : kFlags)
    if (document["boost"][flag.name])
      return true;
  return false;
}

} // namespace gradus::recipe
