// Translates case.json and its tensors into Gradus' terms.

#include "tool/check/recorded_case.h"

#include "messages/json_text.h"
#include "runtime/well_known.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>
#include <fstream>

namespace gradus::check {

namespace fs = std::filesystem;
using runtime::NamedTensor;
using runtime::Safetensors;

//===-- opening -----------------------------------------------------------===//

/// Opens a tensor file of the case; full-size cases leave some out.
static absl::StatusOr<std::optional<Safetensors>>
openTensors(const fs::path &path) {
  if (!fs::exists(path))
    return std::optional<Safetensors>();
  auto file = Safetensors::open(path);
  if (!file.ok())
    return absl::InvalidArgumentError(file.status().message());
  return std::optional<Safetensors>(*std::move(file));
}

absl::StatusOr<RecordedCase> RecordedCase::open(const fs::path &folder) {
  RecordedCase result(folder.filename().empty() ? folder.parent_path()
                                                : folder);
  fs::path path = folder / "case.json";
  std::ifstream stream(path);
  if (!stream)
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": there is no such file"));
  std::string text(std::istreambuf_iterator<char>(stream), {});
  result.description_ = parsedJson<Json>(text);
  if (!result.description_.is_object())
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": is no JSON object"));
  for (auto [place, name] :
       {std::pair(&result.data_, "data.safetensors"),
        std::pair(&result.expected_, "expected.safetensors")}) {
    auto tensors = openTensors(folder / name);
    if (!tensors.ok())
      return tensors.status();
    *place = *std::move(tensors);
  }
  return result;
}

std::vector<fs::path> findCases(const fs::path &root) {
  std::vector<fs::path> cases;
  std::error_code error;
  if (fs::exists(root / "case.json", error))
    return {root};
  for (const auto &entry : fs::recursive_directory_iterator(root, error))
    if (entry.path().filename() == "case.json")
      cases.push_back(entry.path().parent_path());
  std::sort(cases.begin(), cases.end());
  return cases;
}

//===-- description -------------------------------------------------------===//

std::vector<std::string> RecordedCase::files() const {
  std::vector<std::string> names;
  for (const Json &file : description_.at("files"))
    names.push_back(file.at("file"));
  return names;
}

/// Finds the element of a list whose `key` is `value`.
static const Json &elementOf(const Json &list, const char *key,
                             const std::string &value) {
  for (const Json &element : list)
    if (element.at(key) == value)
      return element;
  throw Refusal(absl::StrCat("case.json lists no ", key, " \"", value, "\""));
}

const Json &RecordedCase::file(const std::string &name) const {
  return elementOf(description_.at("files"), "file", name);
}

const Json &RecordedCase::run(const std::string &id) const {
  return elementOf(description_.at("runs"), "id", id);
}

std::string RecordedCase::pathOf(const std::string &file) const {
  return (folder_ / file).string();
}

std::map<std::string, int64_t>
RecordedCase::dims(const std::string &fileName) const {
  std::map<std::string, int64_t> result;
  const Json symbolic = file(fileName).value("symbolic_dims", Json::object());
  for (const Json &input : description_.at("inputs")) {
    const Json axes =
        symbolic.value(input.at("name").get<std::string>(), Json::object());
    for (const auto &[axis, name] : axes.items())
      result[name] = input.at("shape").at(std::stoul(axis));
  }
  return result;
}

std::optional<Alias> RecordedCase::aliasOf(const std::string &fileName,
                                           const std::string &parameter) const {
  const Json &description = file(fileName);
  Alias alias = {parameter, "same"};
  const Json aliases = description.value("parameter_aliases", Json::object());
  if (aliases.contains(parameter))
    alias = {aliases[parameter].at(0), aliases[parameter].at(1)};
  if (!description.contains("trainable_initializers"))
    return alias;
  const Json &trained = description["trainable_initializers"];
  if (std::find(trained.begin(), trained.end(), alias.initializer) ==
      trained.end())
    return {};
  return alias;
}

std::vector<std::string> RecordedCase::trainable(const Json &file) const {
  if (file.contains("trainable_initializers"))
    return file["trainable_initializers"];
  std::vector<std::string> names;
  for (const Json &parameter : description_.at("parameters"))
    names.push_back(
        aliasOf(file.at("file"), parameter.at("name"))->initializer);
  return names;
}

/// Translates PyTorch's names into keys of a recipe.
std::string RecordedCase::recipe(const std::string &fileName,
                                 const Json &run) const {
  Json optimizer = run.at("optimizer"), loss = description_.at("loss");
  for (const auto &[theirs, ours] :
       {std::pair("lr", "learning_rate"), {"eps", "epsilon"}})
    if (optimizer.contains(theirs)) {
      optimizer[ours] = optimizer[theirs];
      optimizer.erase(theirs);
    }
  if (!loss.contains("output") && !loss.contains("of"))
    loss["output"] = description_.at("output").at("name");
  return jsonText(Json{{"optimizer", optimizer},
                       {"loss", loss},
                       {"trainable", trainable(file(fileName))},
                       {"inputs", {{"dims", dims(fileName)}}}});
}

//===-- tensors -----------------------------------------------------------===//

const NamedTensor &RecordedCase::input(const std::string &name,
                                       int batch) const {
  std::string key = name == well_known::kLabel
                        ? absl::StrCat("labels.", batch)
                        : absl::StrCat("input.", name, ".", batch);
  const NamedTensor *found = data_ ? data_->find(key) : nullptr;
  if (!found)
    throw Refusal(absl::StrCat("data.safetensors has no tensor \"", key, "\""));
  return *found;
}

const NamedTensor *RecordedCase::expected(const std::string &name) const {
  return expected_ ? expected_->find(name) : nullptr;
}

std::string RecordedCase::missing(const std::string &fileName) const {
  std::vector<std::string> needed = {fileName, "data.safetensors"};
  // The text may be "weights.bin (not shipped)".
  std::string external = file(fileName).value("external_data", "");
  if (!external.empty())
    needed.push_back(external.substr(0, external.find(" (")));
  for (const std::string &name : needed)
    if (!fs::exists(folder_ / name))
      return name;
  return "";
}

template <typename T>
static std::vector<double> copyOf(const NamedTensor &tensor) {
  std::vector<T> elements(tensor.data.size() / sizeof(T));
  std::memcpy(elements.data(), tensor.data.data(), tensor.data.size());
  return std::vector<double>(elements.begin(), elements.end());
}

std::vector<double> toDoubles(const NamedTensor &tensor) {
  switch (tensor.type.dtype) {
  case runtime::DType::f32:
    return copyOf<float>(tensor);
  case runtime::DType::f64:
    return copyOf<double>(tensor);
  case runtime::DType::i64:
    return copyOf<int64_t>(tensor);
  case runtime::DType::i32:
    return copyOf<int32_t>(tensor);
  default:
    throw Refusal(absl::StrCat("\"", tensor.name, "\" is ",
                               runtime::toString(tensor.type),
                               ", expected f32, f64 or integers"));
  }
}

} // namespace gradus::check
