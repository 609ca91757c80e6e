// Versions and names, in one look at the graph.

#include "frontends/onnx/well_formed.h"

#include "frontends/message.h"
#include "frontends/onnx/node.h"
#include "frontends/onnx/onnx.pb.h"

#include "llvm/ADT/StringMap.h"

namespace gradus::onnx {

static absl::Status checkOpset(int64_t opset) {
  if (opset <= kNewestOpset)
    return absl::OkStatus();
  return invalid("is of opset ", opset, "; the newest that is known is ",
                 kNewestOpset, ". Export it with opset_version=", kNewestOpset,
                 " or less");
}

/// What gives each value: inputs and initializers, then nodes in order.
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
  GRADUS_RETURN_IF_ERROR(checkOpset(file.opset()));
  return checkNames(file.graph(), file.opset());
}

} // namespace gradus::onnx
