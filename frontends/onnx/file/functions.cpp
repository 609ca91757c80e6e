// Checks first that no function calls itself, directly or through others; then
// replaces each call, including calls inside replaced ones. Names in a function
// get the call's name as a prefix, so that they stay distinct.

#include "frontends/onnx/file/functions.h"

#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/file/size_limits.h"
#include "messages/error_kind.h"
#include "messages/message.h"

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

/// One call: replaces the function's names and attributes by those of the call.
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

  /// Adds the function's nodes with the names and attributes of the call.
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

  /// Renames a nested graph of the function.
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

  /// Copies an attribute, which may refer to one of the call, or to its
  /// default.
  void addAttribute(NodeProto &node, const AttributeProto &attribute) {
    const AttributeProto *found = &attribute;
    bool isOfCall = false;
    if (!attribute.ref_attr_name().empty()) {
      found = find(node_.attribute(), attribute.ref_attr_name());
      isOfCall = found;
      if (!found)
        found = find(function_.attribute_proto(), attribute.ref_attr_name());
      if (!found)
        return; // The call leaves it out.
    }
    AttributeProto &copy = *node.add_attribute();
    copy = *found;
    copy.set_name(attribute.name());
    if (copy.has_g() && !isOfCall) // It uses names around the call.
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

//===-- call graph --------------------------------------------------------===//

std::string nameOf(const FunctionProto &function) {
  return function.domain() + "::" + function.name();
}

/// A model's functions by the names that calls use; none calls itself.
class Functions {
public:
  absl::Status add(const ::onnx::ModelProto &model) {
    for (const FunctionProto &function : model.functions()) {
      auto [entry, isNew] = numbers_.try_emplace(
          keyOf(function.domain(), function.name(), function.overload()),
          all_.size());
      if (!isNew)
        return invalid("has two functions called ", nameOf(function));
      all_.push_back({&function});
    }
    for (size_t caller = 0; caller < all_.size(); ++caller)
      addCalls(caller, all_[caller].function->node());
    return checkCalls();
  }

  bool empty() const { return all_.empty(); }

  /// The function that a node calls, or null.
  const FunctionProto *calledBy(const NodeProto &node) const {
    auto found =
        numbers_.find(keyOf(node.domain(), node.op_type(), node.overload()));
    return found == numbers_.end() ? nullptr : all_[found->second].function;
  }

private:
  /// Limits the length of inner names, which get a part for each call.
  static constexpr int kMostLevels = 1000;

  struct Entry {
    const FunctionProto *function;
    std::vector<size_t> callers = {}, callees = {}; // once for each call
    size_t open = 0; // callees whose levels are not known yet
    int levels = 1;  // depth of calls, its own included
  };

  void addCalls(size_t caller, const Nodes &nodes) {
    for (const NodeProto &node : nodes) {
      auto callee =
          numbers_.find(keyOf(node.domain(), node.op_type(), node.overload()));
      if (callee != numbers_.end()) {
        all_[callee->second].callers.push_back(caller);
        all_[caller].callees.push_back(callee->second);
        ++all_[caller].open;
      }
      for (const AttributeProto &attribute : node.attribute())
        if (attribute.has_g())
          addCalls(caller, attribute.g().node());
    }
  }

  /// Visits functions after those that they call; the rest forms a cycle.
  absl::Status checkCalls() {
    std::vector<size_t> known;
    for (size_t i = 0; i < all_.size(); ++i)
      if (all_[i].open == 0)
        known.push_back(i);
    for (size_t next = 0; next < known.size(); ++next)
      for (size_t caller : all_[known[next]].callers) {
        Entry &entry = all_[caller];
        entry.levels = std::max(entry.levels, all_[known[next]].levels + 1);
        if (--entry.open == 0)
          known.push_back(caller);
      }
    if (known.size() < all_.size())
      return circle();
    for (const Entry &entry : all_)
      if (entry.levels > kMostLevels)
        return unsupported("function ", nameOf(*entry.function),
                           " calls others, ", entry.levels,
                           " levels deep; at most ", kMostLevels,
                           " are supported");
    return absl::OkStatus();
  }

  /// Reports a cycle: each function with unknown levels calls another such one.
  absl::Status circle() const {
    auto isOpen = [&](size_t i) { return all_[i].open > 0; };
    size_t at = llvm::find_if(all_, [](const Entry &e) { return e.open > 0; }) -
                all_.begin();
    std::vector<bool> isOnWay(all_.size());
    for (; !isOnWay[at]; at = *llvm::find_if(all_[at].callees, isOpen))
      isOnWay[at] = true;
    size_t next = *llvm::find_if(all_[at].callees, isOpen);
    std::string by =
        next == at ? "" : ", by way of " + nameOf(*all_[next].function);
    return invalid("function ", nameOf(*all_[at].function), " calls itself",
                   by);
  }

  llvm::StringMap<size_t> numbers_;
  std::vector<Entry> all_;
};

//===-- inlining ----------------------------------------------------------===//

/// Counts nodes, also in nested graphs.
int64_t countNodes(const Nodes &nodes) {
  int64_t count = nodes.size();
  for (const NodeProto &node : nodes)
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        count += countNodes(attribute.g().node());
  return count;
}

/// Replaces calls in a graph and in its branches and loops.
class Inliner {
public:
  explicit Inliner(const Functions &functions) : functions_(functions) {}

  /// Inlines calls; nested graphs of functions may call functions that have
  /// some, so that graphs nest deeper than in the file.
  absl::Status run(GraphProto &graph, int depth = 1) {
    if (depth > kMostGraphs)
      return invalid("its functions, put in place of their calls, make graphs "
                     "more than ",
                     kMostGraphs, " deep in one another");
    Nodes nodes;
    for (NodeProto &node : *graph.mutable_node())
      GRADUS_RETURN_IF_ERROR(add(std::move(node), nodes));
    *graph.mutable_node() = std::move(nodes);
    for (NodeProto &node : *graph.mutable_node())
      for (AttributeProto &attribute : *node.mutable_attribute())
        if (attribute.has_g())
          GRADUS_RETURN_IF_ERROR(run(*attribute.mutable_g(), depth + 1));
    return absl::OkStatus();
  }

private:
  static constexpr int64_t kMostNodes = 200000;

  /// Adds a node, or the nodes that replace its call.
  absl::Status add(NodeProto node, Nodes &nodes) {
    const FunctionProto *function = functions_.calledBy(node);
    if (!function) {
      *nodes.Add() = std::move(node);
      return absl::OkStatus();
    }
    Nodes inner;
    Call(*function, node, calls_++).expandInto(inner);
    made_ += countNodes(inner);
    if (made_ > kMostNodes)
      return invalid("its functions, put in place of their calls, make more "
                     "than ",
                     kMostNodes, " nodes; function ", nameOf(*function),
                     " is the last of them");
    for (NodeProto &each : inner)
      GRADUS_RETURN_IF_ERROR(add(std::move(each), nodes));
    return absl::OkStatus();
  }

  const Functions &functions_;
  int calls_ = 0;
  int64_t made_ = 0;
};

} // namespace

absl::Status inlineFunctions(::onnx::ModelProto &model) {
  Functions functions;
  GRADUS_RETURN_IF_ERROR(functions.add(model));
  return functions.empty() ? absl::OkStatus()
                           : Inliner(functions).run(*model.mutable_graph());
}

} // namespace gradus::onnx
