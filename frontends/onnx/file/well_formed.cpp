// Checks versions and names in one pass over the graph.

#include "frontends/onnx/file/well_formed.h"

#include "frontends/onnx/file/node.h"
#include "frontends/onnx/file/onnx.pb.h"
#include "messages/message.h"

#include "llvm/ADT/StringMap.h"

namespace gradus::onnx {

static absl::Status checkOpset(const ModelFile &file) {
  if (!file.hasOpset())
    return invalid("says no opset (opset_import), so that nobody knows what "
                   "its nodes mean; ONNX's own checker refuses it, too");
  if (file.opset() <= kNewestOpset)
    return absl::OkStatus();
  return invalid("is of opset ", file.opset(), "; the newest that is known is ",
                 kNewestOpset, ". Export it with opset_version=", kNewestOpset,
                 " or less");
}

/// Returns "[2, batch] of FLOAT"; empty if the type is not given.
static std::string textOf(const ::onnx::ValueInfoProto &value) {
  const auto &type = value.type().tensor_type();
  std::vector<std::string> sizes;
  for (const auto &size : type.shape().dim())
    sizes.push_back(size.has_dim_value() ? std::to_string(size.dim_value())
                                         : size.dim_param());
  return message("[", joined(sizes), "] of ", dataTypeName(type.elem_type()));
}

static bool fits(const ::onnx::ValueInfoProto &value,
                 const ::onnx::TensorProto &tensor) {
  const auto &type = value.type().tensor_type();
  if (type.elem_type() && type.elem_type() != tensor.data_type())
    return false;
  if (!type.has_shape())
    return true;
  return llvm::equal(type.shape().dim(), tensor.dims(),
                     [](const auto &declared, int64_t size) {
                       return !declared.has_dim_value() ||
                              declared.dim_value() == size;
                     });
}

/// Checks that an initializer of an input has the input's declared type.
static absl::Status checkDefaults(const ::onnx::GraphProto &graph) {
  llvm::StringMap<const ::onnx::TensorProto *> tensors;
  for (const auto &tensor : graph.initializer())
    tensors[tensor.name()] = &tensor;
  for (const auto &input : graph.input()) {
    const ::onnx::TensorProto *tensor = tensors.lookup(input.name());
    if (tensor && !fits(input, *tensor))
      return invalid("declares its input \"", input.name(), "\" as ",
                     textOf(input), ", but the initializer of that name is [",
                     joined(tensor->dims()), "] of ",
                     dataTypeName(tensor->data_type()));
  }
  return absl::OkStatus();
}

/// Checks that each value is defined once: by inputs and initializers, then by
/// nodes in order.
static absl::Status checkNames(const ::onnx::GraphProto &graph, int64_t opset) {
  llvm::StringMap<std::string> givers;
  for (const auto &input : graph.input())
    givers[input.name()] = "an input";
  for (const auto &tensor : graph.initializer())
    givers[tensor.name()] = "an initializer";
  int index = 0;
  for (const ::onnx::NodeProto &proto : graph.node()) {
    Node node(proto, index++, opset);
    std::string words =
        message("node \"", node.name(), "\" (", node.type(), ")");
    for (const std::string &output : proto.output()) {
      auto [giver, isNew] = givers.try_emplace(output, words);
      if (!isNew && !output.empty())
        return invalid("gives the value \"", output, "\" twice: by ",
                       giver->second, " and by ", words);
    }
  }
  return absl::OkStatus();
}

absl::Status checkWellFormed(const ModelFile &file) {
  GRADUS_RETURN_IF_ERROR(checkOpset(file));
  GRADUS_RETURN_IF_ERROR(checkDefaults(file.graph()));
  return checkNames(file.graph(), file.opset());
}

} // namespace gradus::onnx
