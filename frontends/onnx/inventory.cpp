// Applies the importer's rule (frontends/onnx/import.h) to names alone.

#include "frontends/onnx/inventory.h"

#include "frontends/onnx/file/float_size.h"
#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/file/problems.h"
#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/file/size_names.h"
#include "frontends/onnx/importer/importer.h"
#include "frontends/onnx/importer/thrown.h"
#include "frontends/onnx/judge.h"
#include "frontends/onnx/pytorch/export_constants.h"
#include "frontends/onnx/pytorch/export_losses.h"
#include "recipe/patterns.h"

#include <set>

namespace gradus {
namespace onnx {
namespace {

using llvm::StringRef;

/// The names in use; nested graphs use outer names, too.
std::set<std::string> usedNames(const ::onnx::GraphProto &graph) {
  std::set<std::string> names;
  for (const ::onnx::NodeProto &node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const ::onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        names.merge(usedNames(attribute.g()));
  }
  for (const auto &output : graph.output())
    names.insert(output.name());
  return names;
}

/// The names of running means and variances, which are never trained.
std::set<std::string> statistics(const ::onnx::GraphProto &graph) {
  std::set<std::string> names;
  for (const ::onnx::NodeProto &node : graph.node()) {
    if (node.op_type() == "BatchNormalization" && node.input_size() >= 5)
      names.insert({node.input(3), node.input(4)});
    for (const ::onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        names.merge(statistics(attribute.g()));
  }
  return names;
}

/// The element type as in MLIR types: f32, ui8, i64.
std::string elementName(int dataType) {
  std::string name = dataTypeName(dataType);
  static const std::map<std::string, std::string> special = {
      {"FLOAT", "f32"},     {"DOUBLE", "f64"}, {"FLOAT16", "f16"},
      {"BFLOAT16", "bf16"}, {"BOOL", "i1"},
  };
  if (auto found = special.find(name); found != special.end())
    return found->second;
  StringRef digits = name;
  if (digits.consume_front("UINT"))
    return "ui" + digits.str();
  return digits.consume_front("INT") ? "i" + digits.str() : name;
}

std::string described(const ::onnx::TensorProto &tensor) {
  std::string text = tensor.name() + " ";
  for (int64_t extent : tensor.dims())
    text += message(extent, "x");
  return text + elementName(tensor.data_type());
}

/// Describes an input or output; sizes are numbers if known, else names.
std::string described(const ::onnx::ValueInfoProto &port,
                      const ImportOptions &options) {
  std::string text = port.name() + " ";
  const auto &type = port.type().tensor_type();
  for (int axis = 0; axis < type.shape().dim_size(); ++axis) {
    const auto &dimension = type.shape().dim(axis);
    std::string name = sizeName(dimension, port.name(), axis);
    auto known = options.dims.find(name);
    text += name.empty()                  ? message(dimension.dim_value())
            : known == options.dims.end() ? name
                                          : message(known->second);
    text += "x";
  }
  return text + elementName(type.elem_type());
}

/// The inputs that need data.
std::vector<const ::onnx::ValueInfoProto *>
inputsOf(const ::onnx::GraphProto &graph) {
  std::set<std::string> initializers;
  for (const auto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  std::vector<const ::onnx::ValueInfoProto *> inputs;
  for (const auto &input : graph.input())
    if (!initializers.count(input.name()))
      inputs.push_back(&input);
  return inputs;
}

std::set<std::string> unknownSizes(const ::onnx::GraphProto &graph,
                                   const ImportOptions &options) {
  std::set<std::string> names;
  for (const auto *input : inputsOf(graph)) {
    const auto &shape = input->type().tensor_type().shape();
    for (int axis = 0; axis < shape.dim_size(); ++axis)
      if (auto name = sizeName(shape.dim(axis), input->name(), axis);
          !name.empty() && !options.dims.count(name))
        names.insert(name);
  }
  return names;
}

/// The reason why a data file's values cannot be read; else empty.
std::string problemOfData(ModelFile &file) {
  for (const ::onnx::TensorProto *tensor : file.initializers()) {
    bool isBeside = tensor->data_location() == ::onnx::TensorProto::EXTERNAL &&
                    !file.isMissing(*tensor);
    std::string storage;
    if (!isBeside || floatSize(*tensor) == 0)
      continue;
    if (auto bytes = file.floatBytes(*tensor, storage); !bytes.ok())
      return message("tensor \"", tensor->name(),
                     "\": ", bytes.status().message());
  }
  return "";
}

/// Adds the facts that do not need the model's sizes.
void addWithoutSizes(ModelFile &file, const ImportOptions &options,
                     ModelInventory &result) {
  for (const auto *input : inputsOf(file.graph()))
    result.inputs.push_back(described(*input, options));
  for (const auto &output : file.graph().output())
    result.outputs.push_back(described(output, options));
  Problems problems;
  judgeNodes(file.graph(), file.opset(), problems);
  if (absl::Status status = problems.status(); !status.ok())
    result.unsupported = message(file.path(), ": ", status.message());
  else if (std::string problem = problemOfData(file); !problem.empty())
    result.unsupported = message(file.path(), ": ", problem);
}

bool matchesAny(const std::vector<std::string> &patterns,
                const std::string &name) {
  return llvm::any_of(patterns, [&](const std::string &pattern) {
    return matchesPattern(pattern, name);
  });
}

/// The names that are kept, with the reason if the file states it: constant or
/// buffer.
std::map<std::string, std::string> keptBy(ModelFile &file,
                                          const ExportMarks &marks,
                                          const ImportOptions &options) {
  std::map<std::string, std::string> kept;
  for (const std::string &name : statistics(file.graph()))
    kept[name] = "";
  for (const std::string &name : marks.buffers)
    if (isKeptBuffer(marks, name, options.trainable))
      kept.try_emplace(name, " (a buffer, says the file)");
  for (const std::string &name : exportConstants(file, marks))
    if (!isNamed(options.trainable, name))
      kept.try_emplace(name, marks.constants.count(name)
                                 ? " (a constant, says the file)"
                                 : "");
  return kept;
}

void addParameters(ModelFile &file, const ExportMarks &marks,
                   const ImportOptions &options, ModelInventory &result) {
  std::set<std::string> used = usedNames(file.graph());
  std::map<std::string, std::string> kept = keptBy(file, marks, options);
  for (const ::onnx::TensorProto *each : file.initializers()) {
    const ::onnx::TensorProto &tensor = *each;
    bool mayBe =
        mayBeTrained(tensor.name(), tensor.dims_size(), options.trainable) ||
        isScalarParameter(file, marks, tensor);
    if (floatSize(tensor) == 0 || !mayBe || !used.count(tensor.name()))
      continue;
    auto reason = kept.find(tensor.name());
    bool trained = matchesAny(options.trainable, tensor.name()) &&
                   !matchesAny(options.fixed, tensor.name()) &&
                   reason == kept.end();
    (trained ? result.parameters : result.fixed)
        .push_back(described(tensor) +
                   (reason == kept.end() ? "" : reason->second));
    if (trained && isWithin(tensor.dims(), kMostElements))
      result.parameterElements += llvm::product_of(tensor.dims());
  }
}

ModelInventory inventoryOf(ModelFile &file, const ImportOptions &options) {
  ModelInventory result;
  ExportMarks marks = exportMarks(file);
  addParameters(file, marks, options, result);
  for (const auto &[location, tensors] : file.missing())
    result.missing.push_back(message(
        location, ": ", tensors.size(),
        tensors.size() == 1 ? " tensor (" : " tensors (", few(tensors), ")"));
  result.warnings = exportLosses(file, marks);
  for (const std::string &size : unknownSizes(file.graph(), options))
    result.unknownSizes.push_back(size);
  if (!result.unknownSizes.empty())
    addWithoutSizes(file, options, result);
  return result;
}

} // namespace
} // namespace onnx

absl::StatusOr<ModelInventory> inventoryOfOnnx(const std::string &path,
                                               const ImportOptions &options) {
  try {
    GRADUS_ASSIGN_OR_RETURN(std::unique_ptr<onnx::ModelFile> file,
                            onnx::ModelFile::open(path));
    return onnx::inventoryOf(*file, options);
  } catch (const std::exception &) {
    return invalid(path, ": ", onnx::wordsOfThrown());
  }
}

} // namespace gradus
