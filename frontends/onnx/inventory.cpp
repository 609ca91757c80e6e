// The rule of the importer (frontends/onnx/import.h), applied to names alone.

#include "frontends/onnx/inventory.h"

#include "frontends/onnx/export_constants.h"
#include "frontends/onnx/export_losses.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/problems.h"

#include <set>

namespace gradus {
namespace onnx {
namespace {

/// Branches and bodies of loops use names from outside, too.
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

/// Running mean and variance: never trained.
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

std::string described(const ::onnx::TensorProto &tensor) {
  std::string text = tensor.name() + " ";
  for (int64_t extent : tensor.dims())
    text += message(extent, "x");
  switch (tensor.data_type()) {
  case ::onnx::TensorProto::DOUBLE:
    return text + "f64";
  case ::onnx::TensorProto::FLOAT16:
    return text + "f16";
  case ::onnx::TensorProto::BFLOAT16:
    return text + "bf16";
  }
  return text + "f32";
}

bool isFloat(const ::onnx::TensorProto &tensor) {
  switch (tensor.data_type()) {
  case ::onnx::TensorProto::FLOAT:
  case ::onnx::TensorProto::DOUBLE:
  case ::onnx::TensorProto::FLOAT16:
  case ::onnx::TensorProto::BFLOAT16:
    return true;
  }
  return false;
}

bool matchesAny(const std::vector<std::string> &patterns,
                const std::string &name) {
  return llvm::any_of(patterns, [&](const std::string &pattern) {
    return matches(pattern, name);
  });
}

ModelInventory inventoryOf(ModelFile &file, const ImportOptions &options) {
  ModelInventory result;
  std::set<std::string> used = usedNames(file.graph()),
                        kept = statistics(file.graph());
  for (const std::string &constant : exportConstants(file))
    if (!isNamed(options.trainable, constant))
      kept.insert(constant);
  for (const ::onnx::TensorProto *each : file.initializers()) {
    const ::onnx::TensorProto &tensor = *each;
    if (!isFloat(tensor) ||
        !mayBeTrained(tensor.name(), tensor.dims_size(), options.trainable) ||
        !used.count(tensor.name()))
      continue;
    bool trained = matchesAny(options.trainable, tensor.name()) &&
                   !matchesAny(options.fixed, tensor.name()) &&
                   !kept.count(tensor.name());
    (trained ? result.parameters : result.fixed).push_back(described(tensor));
  }
  for (const auto &[location, tensors] : file.missing())
    result.missing.push_back(message(
        location, ": ", tensors.size(),
        tensors.size() == 1 ? " tensor (" : " tensors (", few(tensors), ")"));
  result.warnings = exportLosses(file);
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
  } catch (const std::exception &error) { // protobuf's, or out of memory
    return invalid(path, ": ", error.what());
  }
}

} // namespace gradus
