// The rules of training/data/preparation.cpp, which checks them again because
// it also knows the inputs of labels.

#include "frontends/compiler/input_preparation.h"

#include "messages/json_text.h"
#include "messages/message.h"
#include "runtime/well_known.h"

#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

using namespace mlir;
using Json = nlohmann::json;

namespace gradus::compiler {
namespace {

struct ModelInput {
  std::string name;
  RankedTensorType type;
};

std::vector<ModelInput> inputsOf(GraphOp predict) {
  std::vector<ModelInput> inputs;
  for (auto [index, type] : llvm::enumerate(predict.getArgumentTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      inputs.push_back({predict.getInputName(index).str(), tensor});
  return inputs;
}

/// The names of the inputs that losses add for their labels.
std::set<std::string> labelsOf(const Json &recipe) {
  Json loss = recipe.value("loss", Json::object());
  Json terms = loss.contains("of") ? loss["of"] : Json::array({loss});
  std::set<std::string> labels;
  for (const Json &term : terms)
    labels.insert(term.contains("label") && term["label"].is_string()
                      ? term["label"].get<std::string>()
                      : well_known::kLabel);
  return labels;
}

std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

absl::Status checkNumbers(const std::string &path, const Json &numbers,
                          RankedTensorType type) {
  for (const char *key : {"mean", "std"}) {
    int64_t count = numbers[key].size();
    bool perChannel = type.getRank() > 1 && count == type.getDimSize(1);
    if (count != 1 && !perChannel)
      return invalid(
          path, ".", key, ": has ", count, " numbers, but the input is ",
          textOf(type), "; expected 1",
          type.getRank() > 1 ? message(" or ", type.getDimSize(1)) : "");
  }
  return absl::OkStatus();
}

absl::Status checkDraws(const std::string &path, const Json &draws,
                        RankedTensorType type) {
  int64_t rank = type.getRank();
  int64_t crop = draws.value("crop", int64_t(0));
  Json part = draws.value("resized_crop", Json());
  if (rank < 3 && (crop > 0 || draws.value("flip", false) || part.is_object()))
    return invalid(path, ": the input is ", textOf(type),
                   ", which is no image; inputs.augment crops and flips those");
  for (const char *key : {"scale", "ratio"})
    if (part.is_object() && part[key][0] > part[key][1])
      return invalid(path, ".resized_crop.", key, ": is ", jsonText(part[key]),
                     ", expected the smaller number first");
  if (part.is_object() && part["scale"][1] > 1)
    return invalid(path, ".resized_crop.scale: is ", jsonText(part["scale"]),
                   ", expected at most 1, which is the whole image");
  int64_t maximum =
      rank < 3 ? 0
               : std::max(type.getDimSize(rank - 1), type.getDimSize(rank - 2));
  if (crop > maximum)
    return invalid(path, ".crop: is ", crop, ", but the input is ",
                   textOf(type), "; expected 0 to ", maximum);
  return absl::OkStatus();
}

absl::Status checkOne(const std::string &path, bool normalizes,
                      const Json &settings, RankedTensorType type) {
  if (!type.getElementType().isF32())
    return invalid(path, ": the input is ", textOf(type),
                   "; only f32 can be normalized or augmented");
  return normalizes ? checkNumbers(path, settings, type)
                    : checkDraws(path, settings, type);
}

} // namespace

absl::Status checkInputPreparation(ProgramOp program,
                                   const std::string &recipe) {
  Json json = Json::parse(recipe, nullptr, /*allow_exceptions=*/false);
  GraphOp predict = program.getGraph(well_known::kPredict);
  if (!json.is_object() || !json.contains("inputs") || !predict)
    return absl::OkStatus();
  std::vector<ModelInput> inputs = inputsOf(predict);
  std::set<std::string> labels = labelsOf(json);
  for (const char *key : {"normalize", "augment"}) {
    Json named = json["inputs"].value(key, Json::object());
    for (const auto &[name, settings] : named.items()) {
      std::string path = message("recipe: inputs.", key, ".", name);
      auto input = llvm::find_if(
          inputs, [&](const ModelInput &it) { return it.name == name; });
      std::vector<std::string> names;
      for (const ModelInput &it : inputs)
        names.push_back(it.name);
      if (input == inputs.end() && !labels.count(name))
        return invalid(path, ": the model has no such input; it has ",
                       joined(names));
      if (input != inputs.end())
        GRADUS_RETURN_IF_ERROR(checkOne(path, key == std::string("normalize"),
                                        settings, input->type));
    }
  }
  return absl::OkStatus();
}

} // namespace gradus::compiler
