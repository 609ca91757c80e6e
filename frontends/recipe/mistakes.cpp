// One function for each part of the recipe.

#include "frontends/recipe/mistakes.h"

#include "frontends/recipe/fields.h"
#include "messages/json_text.h"
#include "messages/message.h"
#include "passes/distribution.h"
#include "passes/local/gradient_freeze.h"
#include "passes/methods/clip_gradients.h"
#include "passes/optimizers/schedules.h"
#include "recipe/key_path.h"
#include "runtime/logical_ranks.h"

#include <algorithm>
#include <set>

namespace gradus::recipe {
namespace {

using Json = nlohmann::ordered_json;

/// Calls `tell` with each of these keys of an object that was changed. A key at
/// its default may come from a recipe that was written out.
template <typename Fields, typename Tell>
void forChanged(const Json &object, const Fields &fields,
                const std::string &framework,
                const std::set<std::string_view> &keys, const Tell &tell) {
  for (const Field &field : fields)
    if (std::string key(field.key);
        keys.contains(key) &&
        object[key] != Json::parse(field.fallbackUnder(framework)))
      tell(key, object[key]);
}

class Together {
public:
  explicit Together(const Json &recipe) : recipe_(recipe) {}

  std::vector<Mistake> find() {
    checkMetrics();
    checkFreezing();
    checkOptimizer(recipe_["optimizer"], "optimizer");
    checkSchedules();
    checkLastBatch();
    checkDistribution();
    checkSubspace();
    return std::move(mistakes_);
  }

private:
  template <typename... Part>
  void mistake(const std::string &path, const Part &...parts) {
    mistakes_.push_back({path, message(parts...)});
  }

  void checkMetrics();
  void checkFreezing();
  void checkOptimizer(const Json &optimizer, const std::string &path);
  void checkSchedules();
  bool hasHyperparameter(const std::string &name) const;
  void checkLastBatch();
  void checkDistribution();
  void checkAdasum();
  void refuseChanged(const std::set<std::string_view> &keys,
                     std::string_view why);
  void checkSparse();
  void checkMomentumCorrection();
  void checkLogicalRanks();
  void checkSubspace();
  std::string whoWantsAdasum() const;

  const Json &recipe_;
  std::vector<Mistake> mistakes_;
};

/// The losses that are added up.
std::vector<Json> termsOf(const Json &loss) {
  if (!loss.contains("of"))
    return {loss};
  std::vector<Json> terms;
  for (const Json &term : loss["of"])
    terms.push_back(term);
  return terms;
}

/// Whether the labels of a loss are classes.
bool hasClasses(const Json &loss) {
  return loss.contains("class_axis") && !loss.value("soft_labels", false);
}

/// Metrics are outputs by their names, of which there is one of each.
void Together::checkMetrics() {
  std::set<std::string> seen;
  bool classes = std::ranges::any_of(termsOf(recipe_["loss"]), hasClasses);
  for (const Json &metric : recipe_["metrics"]) {
    if (!seen.insert(metric.get<std::string>()).second)
      mistake("metrics", metric, " stands twice");
    else if ((metric == "accuracy" || metric == "top5") && !classes)
      mistake("metrics", metric,
              " needs labels that are classes, but loss.type is ",
              recipe_["loss"]["type"]);
  }
}

/// A list of groups, or parameters by their names.
void Together::checkFreezing() {
  const Json &freeze = recipe_["gradient_freeze"];
  if (!freeze.is_object() || freeze["strategy"].is_null())
    return;
  for (const char *key : {"from", "until", "last_layers"})
    if (!freeze[key].is_null())
      mistake("gradient_freeze.strategy", "excludes ", key,
              ", which says by itself what rests in which step");
}

void Together::checkOptimizer(const Json &optimizer, const std::string &path) {
  bool plain = optimizer["type"] == "sgd" || optimizer["type"] == "lars";
  if (plain && optimizer["nesterov"] == true && optimizer["momentum"] == 0.0)
    mistake(path + ".nesterov",
            "is true, but momentum is 0; it looks ahead along the momentum");
  if (optimizer.contains("others"))
    checkOptimizer(optimizer["others"], path + ".others");
}

/// Whether some optimizer of the recipe, or its preconditioning, has what a
/// schedule changes.
bool Together::hasHyperparameter(const std::string &name) const {
  if (name == "damping")
    return recipe_["precondition"].is_object();
  std::string key = name == "beta1" || name == "beta2" ? "betas" : name;
  std::vector<Json> optimizers = {recipe_["optimizer"]};
  for (const Json &group : recipe_["groups"])
    if (group["optimizer"].is_object())
      optimizers.push_back(group["optimizer"]);
  return std::ranges::any_of(optimizers, [&](const Json &optimizer) {
    return optimizer.contains(key) ||
           (optimizer.contains("others") && optimizer["others"].contains(key));
  });
}

void Together::checkSchedules() {
  for (const auto &[name, pieces] : recipe_["schedule"].items())
    if (!pieces.is_array() || pieces.empty() || hasHyperparameter(name))
      continue;
    else if (name == "damping")
      mistake("schedule.damping", "is that of precondition, which the recipe "
                                  "does not have");
    else
      mistake("schedule." + name, "the optimizer ",
              recipe_["optimizer"]["type"], " has no ", name);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string schedule = jsonText(recipe_["schedule"]);
  Value value(scheduleKey(), attributeOf(schedule, &context),
              recipe_["compat"].get<std::string>(), "schedule", &context);
  if (auto found = scheduleMistake(value))
    mistake(withDots(found->path), found->words);
}

/// A batch is filled up with samples whose labels are ignored.
void Together::checkLastBatch() {
  if (recipe_["inputs"]["last_batch"] != "mask")
    return;
  bool all = true, any = false;
  for (const Json &term : termsOf(recipe_["loss"])) {
    bool ignores = term.contains("ignore_index") && hasClasses(term);
    all &= ignores || !term.contains("label");
    any |= ignores;
  }
  if (!all || !any)
    mistake("inputs.last_batch",
            "\"mask\" needs labels that the loss can ignore "
            "(loss.ignore_index), but loss.type is ",
            recipe_["loss"]["type"], "; take \"drop\"");
}

void Together::checkDistribution() {
  const Json &shared = recipe_["distribution"];
  if (!shared["half_scale"].is_null() && shared["reduce"] != "half" &&
      shared["reduce"] != "bf16")
    mistake("distribution.half_scale", "is ", jsonText(shared["half_scale"]),
            ", but distribution.reduce is ", jsonText(shared["reduce"]),
            ", which scales nothing; take \"half\" or \"bf16\"");
  checkAdasum();
  checkSparse();
  if (!shared["gradient_splits"].is_null() &&
      !shared["bucket_elements"].is_null())
    mistake("distribution.gradient_splits",
            "excludes bucket_elements, which "
            "is ",
            jsonText(shared["bucket_elements"]),
            " and cuts gradients by another rule; set one of them to null");
  if (shared["every"] != 1 && shared["reduce"] != "local")
    mistake("distribution.every", "is ", shared["every"],
            ", but distribution.reduce is ", jsonText(shared["reduce"]),
            shared["reduce"] == "partial"
                ? ", with which a part of the weights meets in each update"
                : ", with which all processes make each update together",
            "; take \"local\"");
  if ((shared["reduce"] == "local" || shared["reduce"] == "partial") &&
      shared["mean"] == false)
    mistake("distribution.mean", "is false, but distribution.reduce is ",
            jsonText(shared["reduce"]), ", and ranks meet at their mean");
  if (!shared["parts"].is_null() && shared["reduce"] != "partial")
    mistake("distribution.parts", "is ", shared["parts"],
            ", but distribution.reduce is ", jsonText(shared["reduce"]),
            ", which shares all parameters at once; take \"partial\"");
  if (shared["reduce"] == "local" && shared["batch_norm"] == "local")
    mistake("distribution.batch_norm",
            "is \"local\", but distribution.reduce is \"local\", and running "
            "statistics become their mean where ranks meet; take \"average\"");
  checkLogicalRanks();
}

/// Says where AdaSum comes from, if the recipe does not say it.
std::string Together::whoWantsAdasum() const {
  const Json &boost = recipe_["boost"];
  bool isBoosts = recipe_["distribution"]["reduce"] == "adasum" &&
                  boost.is_object() && boost["boost"]["adasum"] == true;
  return isBoosts ? " (from boost's adasum, which boost.boost.mode \"manual\" "
                    "and boost.boost.adasum false leave out)"
                  : "";
}

/// AdaSum has no mean but that of a group.
void Together::checkAdasum() {
  const Json &shared = recipe_["distribution"];
  if (shared["reduce"] != "adasum" || shared["mode"] == "none")
    return;
  if (shared["mean"] == false && shared["adasum"]["within"] == 1)
    mistake("distribution.mean",
            "is false, which makes a sum of the ranks of adasum.within, but "
            "that is 1; AdaSum itself is neither a sum nor a mean");
}

/// Whether a way to reduce gradients is a sparse sum.
static bool sendsParts(const Json &reduce) {
  return reduce == "sparse_topk" || reduce == "sparse_threshold";
}

/// Refuses keys that were changed, but that the way to reduce does not have.
void Together::refuseChanged(const std::set<std::string_view> &keys,
                             std::string_view why) {
  const Json &shared = recipe_["distribution"];
  forChanged(shared, distributionKey().fields, frameworkOf(recipe_, shared),
             keys, [&](const std::string &key, const Json &value) {
               mistake("distribution." + key, "is ", jsonText(value),
                       ", but distribution.reduce is ",
                       jsonText(shared["reduce"]), why);
             });
}

/// Refuses keys of sparse sums that are missing or contradict each other.
void Together::checkSparse() {
  const Json &shared = recipe_["distribution"];
  if (shared["mode"] == "none")
    return;
  const Json &reduce = shared["reduce"];
  bool byRatio = reduce == "sparse_topk";
  if (!sendsParts(reduce)) {
    refuseChanged({"ratio", "threshold", "capacity", "error_feedback", "warmup",
                   "momentum_correction"},
                  ", which sends all elements; take \"sparse_topk\" or "
                  "\"sparse_threshold\"");
    return;
  }
  const std::string used = byRatio ? "ratio" : "threshold",
                    other = byRatio ? "threshold" : "ratio";
  if (shared[used].is_null())
    mistake(
        "distribution." + used, "is null, but distribution.reduce is ",
        jsonText(reduce),
        byRatio
            ? ", which sends that part of each tensor's elements, such as 0.01"
            : ", which sends the elements that reach it, such as 0.001");
  if (!shared[other].is_null())
    mistake("distribution." + other, "is ", jsonText(shared[other]),
            ", but distribution.reduce is ", jsonText(reduce),
            ", for which distribution.", used,
            " says what is sent; set one of them to null");
  if (byRatio)
    refuseChanged({"capacity"},
                  ", whose messages have room for distribution.ratio");
  for (const char *part : {"ratio", "capacity"})
    if (shared[part].is_number() && shared[part] > 1.0)
      mistake("distribution." + std::string(part), "is ",
              jsonText(shared[part]),
              ", expected a part of the elements, at most 1");
  if (shared["ranks"].is_null())
    mistake("distribution.ranks", "is null, but distribution.reduce is ",
            jsonText(reduce),
            ", whose messages have a size that depends on it: set the number "
            "of processes");
  if (recipe_["precondition"].is_object())
    mistake("distribution.reduce", "is ", jsonText(reduce),
            ", which excludes precondition: what is sent is of the gradients "
            "of several steps, and curvature is of one");
  if (shared["momentum_correction"] == true)
    checkMomentumCorrection();
}

/// Each rank adds up what the optimizer would add up otherwise.
void Together::checkMomentumCorrection() {
  const std::string key = "distribution.momentum_correction";
  const Json &optimizer = recipe_["optimizer"];
  if (recipe_["distribution"]["error_feedback"] == false)
    mistake(key, "is true, but error_feedback is false; momentum adds up what "
                 "was not sent, too");
  if (optimizer["type"] != "sgd")
    mistake(key,
            "is true, which adds up the momentum of sgd, but "
            "optimizer.type is ",
            jsonText(optimizer["type"]));
  else if (optimizer["momentum"] == 0.0 || optimizer["dampening"] != 0.0)
    mistake(key,
            "is true, which needs a momentum without dampening, but "
            "optimizer.momentum is ",
            jsonText(optimizer["momentum"]), " and optimizer.dampening is ",
            jsonText(optimizer["dampening"]));
  const Json &pieces = recipe_["schedule"]["momentum"];
  if (pieces.is_array() && !pieces.empty())
    mistake(key, "is true, which excludes schedule.momentum");
}

/// The bits of logical ranks are those of one tree of sums, and a process
/// computes several in turn between two updates.
void Together::checkLogicalRanks() {
  const Json &shared = recipe_["distribution"];
  const Json &ranks = shared["logical_ranks"];
  if (ranks.is_null() || shared["mode"] == "none")
    return;
  const std::string key = "distribution.logical_ranks";
  if (!shared["ranks"].is_null())
    mistake("distribution.ranks", "is ", jsonText(shared["ranks"]),
            ", but distribution.logical_ranks is ", jsonText(ranks),
            ", which any number of processes that divides it may run");
  auto count = ranks.get<int64_t>();
  if (count > kMostLogicalRanks || (count & (count - 1)) != 0)
    mistake(key, "is ", count, ", expected a power of two up to ",
            kMostLogicalRanks);
  auto needs = [&](bool holds, std::string_view other, const Json &found,
                   std::string_view expected, const std::string &why = "") {
    if (!holds)
      mistake(key, "is ", count, ", which needs ", other, " ", expected,
              ", but it is ", jsonText(found), why);
  };
  needs(recipe_["deterministic"] == true, "deterministic",
        recipe_["deterministic"], "true");
  needs(shared["reduce"] == "plain", "distribution.reduce", shared["reduce"],
        "\"plain\"", whoWantsAdasum());
  needs(shared["batch_norm"] != "synchronized", "distribution.batch_norm",
        shared["batch_norm"], "\"average\" or \"local\"");
  needs(recipe_["accumulation"] == 1, "accumulation", recipe_["accumulation"],
        "1 (more logical ranks accumulate, too)");
  if (!recipe_["gradient_freeze"].is_null())
    mistake(key, "is ", count, ", which excludes gradient_freeze");
}

/// Steps in a subspace follow from the gradient of the loss by which they are
/// tried, which is the mean over the samples of all ranks.
void Together::checkSubspace() {
  const Json &shared = recipe_["distribution"];
  if (!recipe_["dim_reduce"].is_object() || shared["mode"] == "none")
    return;
  const Json &reduce = shared["reduce"];
  if (reduce != "plain" && reduce != "half" && reduce != "bf16")
    mistake("distribution.reduce", "is ", jsonText(reduce), whoWantsAdasum(),
            ", and dim_reduce needs the gradient of all ranks' loss; take "
            "\"plain\", \"half\" or \"bf16\"");
  if (shared["mean"] == false)
    mistake("distribution.mean",
            "is false, and dim_reduce tries its steps by the mean of the "
            "ranks' losses, of which the sum of their gradients is no "
            "gradient; take true");
  if (!shared["logical_ranks"].is_null())
    mistake("distribution.logical_ranks", "is ",
            jsonText(shared["logical_ranks"]),
            ", which excludes dim_reduce: the loss of a trial is summed over "
            "ranks when their gradients have been, and a process computes "
            "logical ranks one after the other");
}

} // namespace

std::vector<Mistake> mistakesTogether(const Json &recipe) {
  return Together(recipe).find();
}

/// Adds a remark for each key of drawn groups that was changed without effect.
static void addIdleFreezing(const Json &freeze, const std::string &framework,
                            std::string_view winner,
                            const std::set<std::string_view> &keys,
                            std::vector<std::string> &remarks) {
  forChanged(freeze, gradientFreeze().field.fields, framework, keys,
             [&](const std::string &key, const Json &value) {
               remarks.push_back(message("gradient_freeze.", key, " is ",
                                         jsonText(value),
                                         " without effect: ", winner,
                                         " says what rests in which step"));
             });
}

/// The value of a key as a user writes it: as a word where one stands for it.
static std::string writtenOf(const Field &field, const Json &value) {
  std::string word(field.shortForms.word);
  return jsonText(word.empty() || value != 0 ? value : Json(word));
}

/// Adds a remark for each key of an object of `distribution` that was changed
/// and that nothing reads, `because`.
static void addIdleObject(const Json &recipe, std::string_view object,
                          const std::string &because,
                          std::vector<std::string> &remarks) {
  const Json &shared = recipe.at("distribution");
  for (const Field &field : distributionKey().fields)
    if (field.key == object)
      for (const Field &own : field.fields)
        forChanged(shared.at(field.key), Fields{own},
                   frameworkOf(recipe, shared), {own.key},
                   [&](const std::string &key, const Json &value) {
                     remarks.push_back(message(
                         "distribution.", field.key, ".", key, " is ",
                         writtenOf(own, value), " without effect: ", because));
                   });
}

/// Adds a remark for each key that is of several processes, where there is one.
/// (gradient_splits also lists parameters.)
static void addIdleDistribution(const Json &recipe,
                                std::vector<std::string> &remarks) {
  const Json &shared = recipe.at("distribution");
  if (shared.at("mode") == "none" || shared.at("reduce") != "local")
    addIdleObject(recipe, "outer",
                  message("distribution.reduce is ",
                          jsonText(shared.at("reduce")), ", mode ",
                          jsonText(shared.at("mode"))),
                  remarks);
  if (shared.at("reduce") != "adasum")
    addIdleObject(
        recipe, "adasum",
        message("distribution.reduce is ", jsonText(shared.at("reduce"))),
        remarks);
  if (shared.at("mode") != "none")
    return;
  forChanged(shared, distributionKey().fields, frameworkOf(recipe, shared),
             {"mean", "loss_mean", "batch_norm", "local_clip", "reduce",
              "half_scale", "bucket_bytes", "bucket_elements", "in_flight",
              "logical_ranks", "ranks", "every", "parts", "ratio", "threshold",
              "capacity", "error_feedback", "momentum_correction", "warmup"},
             [&](const std::string &key, const Json &value) {
               remarks.push_back(
                   message("distribution.", key, " is ", jsonText(value),
                           " without effect: distribution.mode is \"none\""));
             });
}

/// Adds a remark for each key that cuts gradients to buckets, where all of them
/// are one vector, or parts of them travel.
static void addIdleBuckets(const Json &recipe,
                           std::vector<std::string> &remarks) {
  const Json &shared = recipe.at("distribution"), &reduce = shared.at("reduce"),
             &adasum = shared.at("adasum");
  if (shared.at("mode") == "none")
    return;
  auto addFor = [&](const std::set<std::string_view> &keys,
                    const std::string &why) {
    forChanged(shared, distributionKey().fields, frameworkOf(recipe, shared),
               keys, [&](const std::string &key, const Json &value) {
                 remarks.push_back(message("distribution.", key, " is ",
                                           jsonText(value), why));
               });
  };
  const std::string found =
      message(" without effect: distribution.reduce is ", jsonText(reduce));
  if (sendsParts(reduce))
    addFor({"bucket_elements", "gradient_splits"},
           found + "; bucket_bytes says what travels together");
  if (reduce == "local" ||
      (reduce == "partial" && shared.at("parts") != kPlainParts)) {
    const std::string values =
        found +
        ", which sends weights; bucket_bytes says what travels together";
    addFor({"gradient_splits"}, values);
    if (reduce == "local" || !shared.at("parts").is_null())
      addFor({"bucket_elements"}, values); // Else it cuts parts.
  }
  bool hasOthers = adasum.at("of") == "weights" && adasum.at("within") != 1;
  if (reduce != "adasum" || adasum.at("per") != "model" || hasOthers)
    return;
  addFor({"bucket_bytes", "bucket_elements", "gradient_splits"},
         " without effect on what AdaSum combines: distribution.adasum.per is "
         "\"model\", one vector");
}

/// Adds a remark where inverses or directions are to be dealt to ranks, and
/// there is one.
static void addIdleDealing(const Json &recipe,
                           std::vector<std::string> &remarks) {
  const Json &shared = recipe.at("distribution");
  auto addFor = [&](const std::string &key, const Json &method) {
    if (method.at("dealt") != true)
      return;
    const std::string found = key + ".dealt is true without effect";
    if (shared.at("mode") == "none")
      remarks.push_back(message(found, ": distribution.mode is \"none\""));
    else if (shared.at("ranks") == 1)
      remarks.push_back(message(found, ": distribution.ranks is 1"));
  };
  if (const Json &method = recipe.at("precondition"); method.is_object())
    addFor("precondition.refresh", method.at("refresh"));
  if (const Json &method = recipe.at("dim_reduce"); method.is_object())
    addFor("dim_reduce", method);
}

/// Adds a remark where an epsilon of `clip` or `clip_update` was changed that
/// nothing is added to.
static void addIdleEpsilon(const Json &recipe, const Field &key,
                           std::vector<std::string> &remarks) {
  const Json &clipping = recipe.at(std::string(key.key));
  if (!clipping.is_object() || !clipping.value("divide", false))
    return;
  for (const Choice &choice : key.choices)
    if (clipping.at("type") == choice.name)
      forChanged(clipping, choice.fields, recipe.at("compat"), {"norm_epsilon"},
                 [&](const std::string &name, const Json &epsilon) {
                   remarks.push_back(
                       message(key.key, ".", name, " is ", jsonText(epsilon),
                               " without effect: ", key.key,
                               ".divide divides by max(1, norm / value)"));
                 });
}

std::vector<std::string> remarksTogether(const Json &recipe) {
  std::vector<std::string> remarks;
  for (const auto *method : {&clip(), &clipUpdate()})
    addIdleEpsilon(recipe, method->field, remarks);
  addIdleDistribution(recipe, remarks);
  addIdleBuckets(recipe, remarks);
  addIdleDealing(recipe, remarks);
  const Json &freeze = recipe.at("gradient_freeze");
  if (!freeze.is_object())
    return remarks;
  const std::string framework = frameworkOf(recipe, freeze);
  for (const char *winner : {"from", "until", "last_layers"})
    if (!freeze.at(winner).is_null()) {
      addIdleFreezing(
          freeze, framework, winner,
          {"groups", "type", "p", "total_steps", "by_name", "own_slots"},
          remarks);
      return remarks;
    }
  if (!freeze.at("strategy").is_null())
    addIdleFreezing(freeze, framework, "strategy", {"type", "p", "total_steps"},
                    remarks);
  return remarks;
}

} // namespace gradus::recipe
