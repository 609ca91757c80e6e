// The compiler has checked the recipe; what has another form counts as not
// there.

#include "training/artifact_recipe.h"

#include "messages/json_text.h"
#include "runtime/well_known.h"
#include "training/class_axis.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

using namespace gradus::runtime;

namespace gradus::training {

StatusOr<int> graphOf(const Session &session, const std::string &name) {
  int graph = session.findGraph(name);
  if (graph >= 0)
    return graph;
  std::string names;
  for (const GraphInfo &each : session.graphs())
    names += (names.empty() ? "" : ", ") + each.name;
  return invalid(session.artifact().path(), ": has no graph '", name,
                 "'; it has ", names);
}

nlohmann::json recipeOf(const Session &session) {
  const flatbuffers::String *text = session.artifact().header().recipe();
  nlohmann::json recipe = parsedJson(text ? text->string_view() : "");
  return recipe.is_object() ? recipe : nlohmann::json::object();
}

/// A count from 1 to the most that a recipe may have, of which two can be
/// multiplied; 1 if an object has none of this name.
static int64_t countAt(const nlohmann::json &object, const char *key) {
  constexpr int64_t kMost = 1'000'000'000;
  auto said = object.find(key);
  return said != object.end() && said->is_number_integer()
             ? std::clamp<int64_t>(said->get<int64_t>(), 1, kMost)
             : 1;
}

int64_t stepsPerUpdate(const nlohmann::json &recipe) {
  return countAt(recipe, "accumulation");
}

int64_t updatesPerMeeting(const nlohmann::json &recipe) {
  auto shared = recipe.find("distribution");
  return shared != recipe.end() && shared->is_object() &&
                 shared->value("mode", nlohmann::json()) == "data_parallel" &&
                 shared->value("reduce", nlohmann::json()) == "local"
             ? countAt(*shared, "every")
             : 0;
}

bool ranksKeepOwn(const Session &session) {
  return updatesPerMeeting(recipeOf(session)) == 0 &&
         std::ranges::any_of(session.states(), [](const StateInfo &state) {
           return state.isPerRank && state.role == artifact::Role::parameter;
         });
}

RunLength runLengthOf(const nlohmann::json &recipe, int64_t steps,
                      int64_t perEpoch) {
  int64_t perUpdate = stepsPerUpdate(recipe);
  return {static_cast<double>(std::max<int64_t>(steps / perUpdate, 1)),
          static_cast<double>(perEpoch) / static_cast<double>(perUpdate)};
}

/// The shape of the output that a loss uses; empty if it does not exist.
static std::vector<int64_t> outputShape(const Session &session,
                                        const nlohmann::json &loss) {
  std::string name = loss.contains("output") && loss["output"].is_string()
                         ? loss["output"].get<std::string>()
                         : "";
  int graph = session.findGraph(well_known::kPredict);
  if (graph >= 0)
    for (const TensorInfo &output : session.graphs()[graph].outputs)
      if (name.empty() || name == output.name)
        return output.type.shape;
  return {};
}

/// The shape of an input of training; empty if it does not exist.
static std::vector<int64_t> labelShape(const Session &session,
                                       const std::string &label) {
  int graph = session.findGraph(well_known::kTrain);
  if (graph >= 0)
    for (const TensorInfo &input : session.graphs()[graph].inputs)
      if (input.name == label)
        return input.type.shape;
  return {};
}

/// The label rule of a loss whose labels are classes.
static data::LabelRule labelRule(const Session &session,
                                 const nlohmann::json &loss,
                                 const std::string &label) {
  data::LabelRule rule;
  std::vector<int64_t> shape = outputShape(session, loss);
  std::optional<int64_t> axis =
      classAxis(loss, shape, labelShape(session, label));
  if (axis)
    rule.classes = shape[*axis];
  if (axis == 1 && shape.size() > 2 && shape.back() > shape[1])
    rule.advice = absl::StrCat("; classes lie along axis 1 of the output (",
                               shape[1], " of them): did you mean ",
                               "loss.class_axis -1, with ", shape.back(), "?");
  if (loss.contains("ignore_index"))
    rule.ignore = loss["ignore_index"].get<int64_t>();
  // The mean of multi_margin counts labels, whatever their weight.
  if (loss.contains("class_weights") && loss["class_weights"].is_array() &&
      loss.value("type", "") != "multi_margin")
    rule.weights = loss["class_weights"].get<std::vector<double>>();
  return rule;
}

/// The losses that the recipe sums.
static nlohmann::json termsOf(const nlohmann::json &recipe) {
  nlohmann::json loss = recipe.value("loss", nlohmann::json::object());
  return loss.contains("of") ? loss["of"] : nlohmann::json::array({loss});
}

/// Restricts a label that several losses share to what all of them accept.
static void restrict(data::LabelRule &rule, const data::LabelRule &other) {
  if (rule.classes == 0 || other.classes == 0)
    rule.classes = std::max(rule.classes, other.classes);
  else
    rule.classes = std::min(rule.classes, other.classes);
  if (rule.ignore != other.ignore)
    rule.ignore.reset();
  if (rule.weights != other.weights)
    rule.weights.clear(); // none is a weight of the whole loss
}

data::LabelRules labelRules(const Session &session) {
  data::LabelRules rules;
  for (const nlohmann::json &loss : termsOf(recipeOf(session))) {
    bool named = loss.contains("label") && loss["label"].is_string();
    std::string name =
        named ? loss["label"].get<std::string>() : well_known::kLabel;
    bool soft = loss.contains("soft_labels") && loss["soft_labels"] == true;
    bool classes = loss.contains("class_axis") && !soft;
    if (!classes && !loss.contains("label"))
      continue;
    data::LabelRule rule =
        classes ? labelRule(session, loss, name) : data::LabelRule();
    auto [place, isNew] = rules.emplace(name, rule);
    if (!isNew)
      restrict(place->second, rule);
  }
  int64_t classes = session.artifact().header().classes();
  if (classes > 0 && rules[well_known::kLabel].classes == 0)
    rules[well_known::kLabel].classes = classes;
  return rules;
}

bool lossIsTotal(const Session &session) {
  auto terms = termsOf(recipeOf(session));
  return std::all_of(terms.begin(), terms.end(), [](const auto &loss) {
    return loss.contains("reduction") && loss["reduction"] == "sum";
  });
}

} // namespace gradus::training
