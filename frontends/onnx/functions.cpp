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
      copy.set_name(prefix_ + inner.name());
      for (std::string &name : *copy.mutable_input())
        name = nameOf(name);
      for (std::string &name : *copy.mutable_output())
        name = nameOf(name);
      copy.clear_attribute();
      for (const AttributeProto &attribute : inner.attribute())
        addAttribute(copy, attribute);
    }
  }

private:
  std::string nameOf(const std::string &name) {
    if (name.empty())
      return name;
    auto known = names_.find(name);
    return known == names_.end() ? prefix_ + name : known->second;
  }

  /// An attribute may refer to one of the call, or to its default.
  void addAttribute(NodeProto &node, const AttributeProto &attribute) {
    const AttributeProto *found = &attribute;
    if (!attribute.ref_attr_name().empty()) {
      found = find(node_.attribute(), attribute.ref_attr_name());
      if (!found)
        found = find(function_.attribute_proto(), attribute.ref_attr_name());
      if (!found)
        return; // Left out by the call: left out here.
    }
    AttributeProto &copy = *node.add_attribute();
    copy = *found;
    copy.set_name(attribute.name());
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

} // namespace

absl::Status inlineFunctions(::onnx::ModelProto &model) {
  llvm::StringMap<const FunctionProto *> functions;
  for (const FunctionProto &function : model.functions())
    functions[keyOf(function.domain(), function.name(), function.overload())] =
        &function;
  constexpr int mostLevels = 64, mostNodes = 200000;
  bool changed = !functions.empty();
  int calls = 0;
  for (int level = 0; changed; ++level) {
    changed = false;
    Nodes nodes;
    for (const NodeProto &node : model.graph().node()) {
      const FunctionProto *function = functions.lookup(
          keyOf(node.domain(), node.op_type(), node.overload()));
      if (function)
        Call(*function, node, calls++).expandInto(nodes);
      else
        *nodes.Add() = node;
      changed |= function != nullptr;
      if (function && (level == mostLevels || nodes.size() > mostNodes))
        return invalid("function ", node.domain(), "::", node.op_type(),
                       " calls itself without end");
    }
    *model.mutable_graph()->mutable_node() = std::move(nodes);
  }
  return absl::OkStatus();
}

} // namespace gradus::onnx
