// The recorded cases of tests/data/models (see the README there): a model file,
// its data, and what PyTorch made of them. GRADUS_MODELS names a further
// folder.
#pragma once

#include "frontends/message.h"
#include "frontends/onnx/import.h"
#include "ir/evaluator.h"
#include "runtime/safetensors.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>

namespace gradus::testing {

using Json = nlohmann::json;

/// One model file of a case.
struct CaseFile {
  std::filesystem::path folder;
  std::string file;

  std::string path() const { return (folder / file).string(); }
};

inline std::ostream &operator<<(std::ostream &stream, const CaseFile &one) {
  return stream << one.path();
}

/// "lenet5_model_dynamo", for names of tests.
inline std::string testName(const CaseFile &one) {
  std::string name = one.folder.filename().string() + "_" +
                     std::filesystem::path(one.file).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

inline std::vector<CaseFile> allCaseFiles() {
  std::vector<std::filesystem::path> roots = {
      std::filesystem::path(GRADUS_SOURCE_DIR) / "tests/data/models"};
  if (const char *more = std::getenv("GRADUS_MODELS"))
    roots.push_back(more);
  std::map<std::string, CaseFile>
      files; // by name: a case may be in both folders
  for (const auto &root : roots)
    for (const auto &entry :
         std::filesystem::recursive_directory_iterator(root))
      if (entry.path().extension() == ".onnx") {
        CaseFile one = {entry.path().parent_path(), entry.path().filename()};
        files.emplace(testName(one), one);
      }
  std::vector<CaseFile> result;
  for (const auto &[name, one] : files)
    result.push_back(one);
  return result;
}

/// A case, opened.
struct RecordedCase {
  explicit RecordedCase(const CaseFile &one)
      : file(one),
        description(Json::parse(std::ifstream(one.folder / "case.json"))),
        data_(runtime::Safetensors::open(one.folder / "data.safetensors")),
        expected_(
            runtime::Safetensors::open(one.folder / "expected.safetensors")) {
    for (const Json &entry : description["files"])
      if (entry["file"] == one.file)
        fileDescription = entry;
  }

  CaseFile file;
  Json description, fileDescription;

  /// Cases of full size have no stored data or weights.
  bool isComplete() const { return data_.ok() && expected_.ok(); }

  const runtime::NamedTensor &data(const std::string &name) const {
    return get(*data_, name);
  }
  const runtime::NamedTensor &expected(const std::string &name) const {
    return get(*expected_, name);
  }
  bool expects(const std::string &name) const { return expected_->find(name); }

  const runtime::NamedTensor &input(const std::string &name, int batch) const {
    return data(message("input.", name, ".", batch));
  }
  const runtime::NamedTensor &labels(int batch) const {
    return data(message("labels.", batch));
  }

  /// Symbolic dimensions take the sizes of the recorded inputs.
  std::map<std::string, int64_t> dims() const {
    std::map<std::string, int64_t> result;
    const Json symbolic =
        fileDescription.value("symbolic_dims", Json::object());
    for (const Json &input : description["inputs"]) {
      const Json axes =
          symbolic.value(input["name"].get<std::string>(), Json::object());
      for (const auto &[axis, name] : axes.items())
        result[name] = input["shape"][std::stoi(axis)];
    }
    return result;
  }

private:
  static const runtime::NamedTensor &get(const runtime::Safetensors &file,
                                         const std::string &name) {
    const runtime::NamedTensor *found = file.find(name);
    if (!found)
      throw std::runtime_error("the case has no tensor " + name);
    return *found;
  }

  runtime::StatusOr<runtime::Safetensors> data_, expected_;
};

inline HostTensor toHost(const runtime::NamedTensor &tensor) {
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

/// What we do not claim to import yet.
inline bool isUnsupported(absl::string_view error) {
  return error.find("not supported") != error.npos ||
         error.find("is supported only") != error.npos;
}

} // namespace gradus::testing
