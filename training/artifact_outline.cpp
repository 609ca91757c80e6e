// The compiler has checked the recipe; what has another form counts as not
// there.

#include "training/artifact_outline.h"

#include "messages/json_text.h"
#include "runtime/well_known.h"
#include "training/class_axis.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

using namespace gradus::runtime;

namespace gradus::training {

const GraphOutline *ArtifactOutline::find(const std::string &graph) const {
  for (const GraphOutline &each : graphs)
    if (each.name == graph)
      return &each;
  return nullptr;
}

//===-- reading -----------------------------------------------------------===//

/// The element type of a name such as "f32".
static StatusOr<DType> dtypeOf(const std::string &name) {
  for (DType dtype : artifact::EnumValuesDType())
    if (name == nameOf(dtype))
      return dtype;
  return invalid("'", name, "' is no type of elements");
}

static StatusOr<std::vector<TensorInfo>> tensorsOf(const nlohmann::json &list) {
  std::vector<TensorInfo> tensors;
  for (const nlohmann::json &each : list) {
    TensorInfo tensor;
    tensor.name = each.at(0).get<std::string>();
    GRADUS_ASSIGN(tensor.type.dtype, dtypeOf(each.at(1).get<std::string>()));
    tensor.type.shape = each.at(2).get<std::vector<int64_t>>();
    tensor.indices = each.at(3).get<int64_t>();
    std::optional<size_t> bytes = bytesOf(tensor.type);
    if (!bytes)
      return invalid("'", tensor.name, "' is of no size that there can be");
    tensor.bytes = *bytes;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

static StatusOr<ArtifactOutline> read(const nlohmann::json &json) {
  ArtifactOutline outline;
  outline.path = json.at("path").get<std::string>();
  outline.recipe = json.at("recipe");
  outline.classes = json.at("classes").get<int64_t>();
  if (!outline.recipe.is_object())
    return invalid("its recipe is no object");
  for (const nlohmann::json &graph : json.at("graphs")) {
    GraphOutline &added = outline.graphs.emplace_back();
    added.name = graph.at("name").get<std::string>();
    GRADUS_ASSIGN(added.inputs, tensorsOf(graph.at("inputs")));
    GRADUS_ASSIGN(added.outputs, tensorsOf(graph.at("outputs")));
  }
  return outline;
}

StatusOr<ArtifactOutline> ArtifactOutline::parse(const std::string &text) {
  const char *kWhat = "the outline of an artifact";
  try {
    auto outline = read(parsedJson(text));
    return outline.ok() ? std::move(outline) : at(outline.status(), kWhat);
  } catch (const nlohmann::json::exception &error) {
    return at(invalid(wordsOf(error)), kWhat);
  }
}

//===-- labels ------------------------------------------------------------===//

/// The shape of the output that a loss uses; empty if it does not exist.
static std::vector<int64_t> outputShape(const ArtifactOutline &artifact,
                                        const nlohmann::json &loss) {
  std::string name = loss.contains("output") && loss["output"].is_string()
                         ? loss["output"].get<std::string>()
                         : "";
  if (const GraphOutline *graph = artifact.find(well_known::kPredict))
    for (const TensorInfo &output : graph->outputs)
      if (name.empty() || name == output.name)
        return output.type.shape;
  return {};
}

/// The shape of an input of training; empty if it does not exist.
static std::vector<int64_t> labelShape(const ArtifactOutline &artifact,
                                       const std::string &label) {
  if (const GraphOutline *graph = artifact.find(well_known::kTrain))
    for (const TensorInfo &input : graph->inputs)
      if (input.name == label)
        return input.type.shape;
  return {};
}

/// The label rule of a loss whose labels are classes.
static data::LabelRule labelRule(const ArtifactOutline &artifact,
                                 const nlohmann::json &loss,
                                 const std::string &label) {
  data::LabelRule rule;
  std::vector<int64_t> shape = outputShape(artifact, loss);
  std::optional<int64_t> axis =
      classAxis(loss, shape, labelShape(artifact, label));
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

data::LabelRules labelRules(const ArtifactOutline &artifact) {
  data::LabelRules rules;
  for (const nlohmann::json &loss : termsOf(artifact.recipe)) {
    bool named = loss.contains("label") && loss["label"].is_string();
    std::string name =
        named ? loss["label"].get<std::string>() : well_known::kLabel;
    bool soft = loss.contains("soft_labels") && loss["soft_labels"] == true;
    bool classes = loss.contains("class_axis") && !soft;
    if (!classes && !loss.contains("label"))
      continue;
    data::LabelRule rule =
        classes ? labelRule(artifact, loss, name) : data::LabelRule();
    auto [place, isNew] = rules.emplace(name, rule);
    if (!isNew)
      restrict(place->second, rule);
  }
  int64_t classes = artifact.classes;
  if (classes > 0 && rules[well_known::kLabel].classes == 0)
    rules[well_known::kLabel].classes = classes;
  return rules;
}

bool lossIsTotal(const nlohmann::json &recipe) {
  auto terms = termsOf(recipe);
  return std::all_of(terms.begin(), terms.end(), [](const auto &loss) {
    return loss.contains("reduction") && loss["reduction"] == "sum";
  });
}

} // namespace gradus::training
