// Rounds to f32 twice, as the tool's own preparation of samples does, so that
// the model sees the same bits (training/data/preparation.cpp).

#include "frontends/onnx/export/export_normalization.h"

#include "frontends/onnx/file/model_file.h"
#include "frontends/onnx/file/onnx.pb.h"
#include "messages/message.h"

#include "llvm/ADT/StringSet.h"

namespace gradus::onnx {
namespace {

using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

/// Returns a node with one output, which has the node's name.
::onnx::NodeProto newNode(const char *op,
                          const std::vector<std::string> &inputs,
                          const std::string &output) {
  ::onnx::NodeProto node;
  node.set_op_type(op);
  node.set_name(output);
  for (const std::string &input : inputs)
    node.add_input(input);
  node.add_output(output);
  return node;
}

/// Collects the names of all values, also of nested graphs.
void addNames(const GraphProto &graph, llvm::StringSet<> &names) {
  for (const auto &input : graph.input())
    names.insert(input.name());
  for (const auto &tensor : graph.initializer())
    names.insert(tensor.name());
  for (const NodeProto &node : graph.node()) {
    names.insert(node.output().begin(), node.output().end());
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        addNames(attribute.g(), names);
  }
}

/// Renames uses of a value, also in nested graphs, which use outer names.
void renameUses(GraphProto &graph, const std::string &from,
                const std::string &to) {
  for (NodeProto &node : *graph.mutable_node()) {
    for (std::string &input : *node.mutable_input())
      if (input == from)
        input = to;
    for (auto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        renameUses(*attribute.mutable_g(), from, to);
  }
}

const ::onnx::ValueInfoProto *findInput(const GraphProto &graph,
                                        const std::string &name) {
  for (const auto &input : graph.input())
    if (input.name() == name)
      return &input;
  return nullptr;
}

class Normalizing {
public:
  Normalizing(GraphProto &graph, const InputNormalization &numbers)
      : graph_(graph), numbers_(numbers) {
    addNames(graph, names_);
  }

  absl::Status run() {
    GRADUS_RETURN_IF_ERROR(
        check(findInput(graph_, numbers_.input)->type().tensor_type()));
    std::string centered = free("/centered"), normalized = free("/normalized");
    renameUses(graph_, numbers_.input, normalized);
    std::vector<NodeProto> nodes = {
        newNode("Sub", {numbers_.input, constant("/mean", numbers_.mean)},
                centered),
        newNode("Div", {centered, constant("/std", numbers_.std)}, normalized)};
    putInFront(nodes);
    return absl::OkStatus();
  }

private:
  absl::Status check(const ::onnx::TypeProto_Tensor &type) {
    rank_ = type.shape().dim_size();
    if (type.elem_type() != TensorProto::FLOAT)
      return invalid("its input \"", numbers_.input, "\" is ",
                     dataTypeName(type.elem_type()),
                     "; only FLOAT is normalized");
    for (size_t count : {numbers_.mean.size(), numbers_.std.size()})
      if (count != 1 &&
          (rank_ < 2 || type.shape().dim(1).dim_value() != int64_t(count)))
        return invalid("its input \"", numbers_.input, "\" has not the ", count,
                       " channels that training normalized");
    return absl::OkStatus();
  }

  /// Returns an unused name.
  std::string free(const char *ending) {
    std::string name = numbers_.input + ending;
    while (!names_.insert(name).second)
      name += "_";
    return name;
  }

  /// Adds a scalar, or a vector along the second axis of the input.
  std::string constant(const char *ending, const std::vector<float> &values) {
    TensorProto &tensor = *graph_.add_initializer();
    tensor.set_name(free(ending));
    tensor.set_data_type(TensorProto::FLOAT);
    if (values.size() > 1) {
      tensor.add_dims(values.size());
      for (int axis = 2; axis < rank_; ++axis)
        tensor.add_dims(1);
    }
    tensor.mutable_float_data()->Add(values.begin(), values.end());
    return tensor.name();
  }

  void putInFront(const std::vector<NodeProto> &nodes) {
    google::protobuf::RepeatedPtrField<NodeProto> all(nodes.begin(),
                                                      nodes.end());
    for (NodeProto &node : *graph_.mutable_node())
      *all.Add() = std::move(node);
    *graph_.mutable_node() = std::move(all);
  }

  GraphProto &graph_;
  const InputNormalization &numbers_;
  llvm::StringSet<> names_;
  int rank_ = 0;
};

} // namespace

std::vector<InputNormalization>
ofInputs(const GraphProto &graph, const std::vector<InputNormalization> &all) {
  std::vector<InputNormalization> found;
  for (const InputNormalization &each : all)
    if (findInput(graph, each.input))
      found.push_back(each);
  return found;
}

absl::Status addNormalization(::onnx::ModelProto &model,
                              const std::vector<InputNormalization> &ofInputs) {
  constexpr int kBroadcasting = 7; // first opset in which nodes broadcast
  int64_t opset = opsetOf(model);
  if (!ofInputs.empty() && opset < kBroadcasting)
    return invalid("is of opset ", opset,
                   ", in which a normalization cannot be written; expected ",
                   kBroadcasting, " or later");
  for (const InputNormalization &each : ofInputs)
    GRADUS_RETURN_IF_ERROR(Normalizing(*model.mutable_graph(), each).run());
  return absl::OkStatus();
}

} // namespace gradus::onnx
