// Whole models: what PyTorch's exporters write gives PyTorch's logits.

#include "small_model.h"

#include "frontends/message.h"
#include "runtime/safetensors.h"

#include <filesystem>
#include <nlohmann/json.hpp>

using namespace gradus;
using namespace gradus::testing;
using nlohmann::json;
namespace fs = std::filesystem;

//===-- recorded cases ----------------------------------------------------===//

namespace {

/// One model file of a recorded case.
struct CaseFile {
  fs::path folder;
  std::string file;
};

std::ostream &operator<<(std::ostream &stream, const CaseFile &one) {
  return stream << (one.folder / one.file).string();
}

/// The cases of the project, and those in the folder that GRADUS_MODELS names.
std::vector<CaseFile> allCases() {
  std::vector<fs::path> folders = {fs::path(GRADUS_SOURCE_DIR) /
                                   "tests/data/models"};
  if (const char *more = std::getenv("GRADUS_MODELS"))
    folders.push_back(more);
  std::vector<CaseFile> cases;
  for (const fs::path &folder : folders)
    for (const auto &entry : fs::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".onnx")
        cases.push_back({entry.path().parent_path(), entry.path().filename()});
  return cases;
}

HostTensor toHost(const runtime::NamedTensor &tensor) {
  HostTensor result =
      zeros(tensor.type.shape, tensor.type.dtype == runtime::DType::f32);
  for (int64_t i = 0; i < result.size(); ++i)
    if (result.isFloat)
      result.floats[i] = reinterpret_cast<const float *>(tensor.data.data())[i];
    else
      result.integers[i] =
          reinterpret_cast<const int64_t *>(tensor.data.data())[i];
  return result;
}

/// Symbolic dimensions take the sizes of the recorded inputs.
ImportOptions optionsOf(const json &description, const std::string &file) {
  ImportOptions options;
  json symbolic = json::object();
  for (const json &one : description["files"])
    if (one["file"] == file)
      symbolic = one.value("symbolic_dims", symbolic);
  for (const json &input : description["inputs"]) {
    const json dims =
        symbolic.value(input["name"].get<std::string>(), json::object());
    for (const auto &[axis, name] : dims.items())
      options.dims[name] = input["shape"][std::stoi(axis)];
  }
  return options;
}

std::string nameOf(const ::testing::TestParamInfo<CaseFile> &info) {
  std::string name =
      info.param.folder.filename().string() + "_" + info.param.file;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name + message("_", info.index);
}

bool isUnsupported(const std::string &error) {
  return error.find("not supported") != std::string::npos;
}

} // namespace

class RecordedModel : public ::testing::TestWithParam<CaseFile> {};

TEST_P(RecordedModel, GivesTheRecordedLogits) {
  const auto &[folder, file] = GetParam();
  json description = json::parse(std::ifstream(folder / "case.json"));
  Imported model =
      import((folder / file).string(), optionsOf(description, file));
  if (isUnsupported(model.error))
    GTEST_SKIP() << model.error;
  ASSERT_EQ(model.error, "");
  auto data = runtime::Safetensors::open(folder / "data.safetensors");
  auto expected = runtime::Safetensors::open(folder / "expected.safetensors");
  ASSERT_TRUE(data.ok() && expected.ok());
  std::vector<HostTensor> inputs;
  for (mlir::Attribute name : model.predict().getInputNames())
    inputs.push_back(toHost(*data->find(
        "input." + mlir::cast<mlir::StringAttr>(name).str() + ".0")));
  std::vector<HostTensor> outputs = evaluate(model, inputs);
  ASSERT_EQ(outputs.size(), 1u);
  HostTensor logits = toHost(*expected->find("logits0"));
  ASSERT_EQ(outputs[0].shape, logits.shape);
  for (int64_t i = 0; i < logits.size(); ++i)
    ASSERT_NEAR(outputs[0].floats[i], logits.floats[i],
                2e-6 * std::max(1.0, std::abs(logits.floats[i])))
        << i;
}

TEST_P(RecordedModel, TrainsTheRecordedParameters) {
  const auto &[folder, file] = GetParam();
  json description = json::parse(std::ifstream(folder / "case.json"));
  Imported model =
      import((folder / file).string(), optionsOf(description, file));
  if (isUnsupported(model.error))
    GTEST_SKIP() << model.error;
  ASSERT_EQ(model.error, "");
  std::set<std::string> expected, found;
  for (const json &parameter : description["parameters"])
    expected.insert(parameter["name"]);
  for (StateOp state : model.program().getOps<StateOp>())
    found.insert(state.getSymName().str());
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Import, RecordedModel, ::testing::ValuesIn(allCases()),
                         nameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RecordedModel);
