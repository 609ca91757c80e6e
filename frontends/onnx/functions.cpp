// Calls are replaced one level after the other. Names inside of a function get
// the call's name in front, so that they stay apart.

#include "frontends/onnx/functions.h"

#include "frontends/message.h"
#include "frontends/onnx/onnx.pb.h"

#include "llvm/ADT/StringMap.h"

namespace gradus::onnx {
namespace {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

std::string keyOf(const std::string &domain, const std::string &name,
                  const std::string &overload) {
  return (domain == "ai.onnx" ? "" : domain) + "::" + name + "::" + overload;
}

/// One call: what stands for the function's names and attributes.
class Call {
public:
  Call(const FunctionProto &function, const NodeProto &node, int number)
      : function_(function), node_(node),
        prefix_(message(node.name().empty() ? node.op_type() : node.name(), "_",
                        number, "/")) {
    for (int i = 0; i < function.input_size(); ++i)
      names_[function.input(i)] = i < node.input_size() ? node.input(i) : "";
    for (int i = 0; i < function.output_size(); ++i)
      if (i < node.output_size() && !node.output(i).empty())
        names_[function.output(i)] = node.output(i);
  }

  /// The function's nodes with the names and attributes of the call.
  void expandInto(Nodes &nodes) {
    for (const NodeProto &inner : function_.node()) {
      NodeProto &copy = *nodes.Add();
      copy = inner;
      rename(copy, inner);
    }
  }

private:
  void rename(NodeProto &copy, const NodeProto &inner) {
    copy.set_name(prefix_ + inner.name());
    for (std::string &name : *copy.mutable_input())
      name = nameOf(name);
    for (std::string &name : *copy.mutable_output())
      name = nameOf(name);
    copy.clear_attribute();
    for (const AttributeProto &attribute : inner.attribute())
      addAttribute(copy, attribute);
  }

  /// A branch or a loop's body in the function.
  void rename(GraphProto &graph) {
    for (auto *values : {graph.mutable_input(), graph.mutable_output()})
      for (auto &value : *values)
        value.set_name(nameOf(value.name()));
    for (auto &tensor : *graph.mutable_initializer())
      tensor.set_name(nameOf(tensor.name()));
    for (NodeProto &node : *graph.mutable_node())
      rename(node, NodeProto(node));
  }

  std::string nameOf(const std::string &name) {
    if (name.empty())
      return name;
    auto known = names_.find(name);
    return known == names_.end() ? prefix_ + name : known->second;
  }

  /// An attribute may refer to one of the call, or to its default.
  void addAttribute(NodeProto &node, const AttributeProto &attribute) {
    const AttributeProto *found = &attribute;
    bool isOfCall = false;
    if (!attribute.ref_attr_name().empty()) {
      found = find(node_.attribute(), attribute.ref_attr_name());
      isOfCall = found;
      if (!found)
        found = find(function_.attribute_proto(), attribute.ref_attr_name());
      if (!found)
        return; // Left out by the call: left out here.
    }
    AttributeProto &copy = *node.add_attribute();
    copy = *found;
    copy.set_name(attribute.name());
    if (copy.has_g() && !isOfCall) // Its names are those around the call.
      rename(*copy.mutable_g());
  }

  template <typename List>
  static const AttributeProto *find(const List &attributes,
                                    const std::string &name) {
    for (const AttributeProto &attribute : attributes)
      if (attribute.name() == name)
        return &attribute;
    return nullptr;
  }

  const FunctionProto &function_;
  const NodeProto &node_;
  std::string prefix_;
  llvm::StringMap<std::string> names_;
};

/// Replaces calls in a graph and in its branches and loops, level by level.
class Inliner {
public:
  explicit Inliner(const ::onnx::ModelProto &model) {
    for (const FunctionProto &function : model.functions())
      functions_[keyOf(function.domain(), function.name(),
                       function.overload())] = &function;
  }

  absl::Status run(GraphProto &graph, int depth = 0) {
    bool changed = !functions_.empty();
    for (int level = 0; changed; ++level) {
      changed = false;
      Nodes nodes;
      for (const NodeProto &node : graph.node())
        if (const FunctionProto *function = functionOf(node)) {
          changed = true;
          if (level + depth >= kMostLevels || calls_ > kMostCalls ||
              nodes.size() > kMostNodes)
            return invalid("function ", node.domain(), "::", node.op_type(),
                           " calls itself without end");
          Call(*function, node, calls_++).expandInto(nodes);
        } else {
          *nodes.Add() = node;
        }
      *graph.mutable_node() = std::move(nodes);
    }
    return runInside(graph, depth + 1);
  }

private:
  static constexpr int kMostLevels = 64, kMostNodes = 200000,
                       kMostCalls = 200000;

  const FunctionProto *functionOf(const NodeProto &node) const {
    return functions_.lookup(
        keyOf(node.domain(), node.op_type(), node.overload()));
  }

  absl::Status runInside(GraphProto &graph, int depth) {
    for (NodeProto &node : *graph.mutable_node())
      for (AttributeProto &attribute : *node.mutable_attribute())
        if (attribute.has_g() && !functions_.empty())
          GRADUS_RETURN_IF_ERROR(run(*attribute.mutable_g(), depth));
    return absl::OkStatus();
  }

  llvm::StringMap<const FunctionProto *> functions_;
  int calls_ = 0;
};

} // namespace

absl::Status inlineFunctions(::onnx::ModelProto &model) {
  return Inliner(model).run(*model.mutable_graph());
}

} // namespace gradus::onnx
