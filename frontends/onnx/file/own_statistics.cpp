// The inputs of a BatchNormalization are (input, scale, bias, mean, variance).

#include "frontends/onnx/file/own_statistics.h"

#include "frontends/onnx/file/onnx.pb.h"
#include "messages/message.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>

namespace gradus::onnx {
namespace {

using llvm::StringRef;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

constexpr int kScale = 1, kBias = 2, kMean = 3, kVariance = 4;

/// A use of a tensor; the node is null for a nested graph or an output of the
/// model.
struct Use {
  NodeProto *node;
  int input;
};

bool isNorm(const NodeProto &node) {
  return node.op_type() == "BatchNormalization" &&
         node.input_size() > kVariance;
}

bool isCalledAs(StringRef name, int input) {
  return name.ends_with(input == kMean ? "running_mean" : "running_var");
}

class Separation {
public:
  explicit Separation(GraphProto &graph) : graph_(graph) {
    for (const TensorProto &tensor : graph.initializer())
      initializers_.try_emplace(tensor.name(), &tensor);
    for (NodeProto &node : *graph.mutable_node())
      addUses(node);
    for (const auto &output : graph.output())
      addUse(output.name(), {nullptr, 0});
  }

  void run() {
    for (NodeProto &node : *graph_.mutable_node())
      for (int input : {kMean, kVariance})
        if (isNorm(node) && isShared(node, input))
          planned_.push_back({{&node, input}, ownName(node, input)});
    std::vector<Use> constants = constantsThatAreStatistics();
    for (const auto &[use, name] : planned_)
      addInitializer(origin(use.node->input(use.input)), name);
    for (const auto &[use, name] : planned_)
      use.node->set_input(use.input, name);
    removeIdentities();
    for (Use use : constants)
      makeConstant(use);
  }

private:
  /// The name of a statistic, without the copies that torch.export adds for
  /// each further run of a module (`getitem_3`).
  std::string statistic(std::string name, int input) const {
    for (size_t most = copies_.size(); most > 0; --most) { // even in a cycle
      auto copied = copies_.find(name);
      if (copied == copies_.end() || isCalledAs(name, input))
        break;
      name = copied->second;
    }
    return name;
  }

  /// The names of a node's parameters, which all nodes of one module share.
  std::string parametersOf(const NodeProto &node) const {
    return message(node.input(kScale), "\n", node.input(kBias), "\n",
                   statistic(node.input(kMean), kMean), "\n",
                   statistic(node.input(kVariance), kVariance));
  }

  /// The initializer of a name; the name itself if there is none.
  std::string origin(const std::string &name) const {
    auto found = origins_.find(name);
    return found == origins_.end() ? name : found->second;
  }
  void addUse(const std::string &name, Use use) {
    if (initializers_.contains(origin(name)))
      uses_[origin(name)].push_back(use);
  }

  void addUses(NodeProto &node) {
    names_.insert(node.output().begin(), node.output().end());
    bool renames = node.op_type() == "Identity" && node.input_size() == 1 &&
                   node.output_size() == 1;
    if (renames && initializers_.contains(origin(node.input(0)))) {
      origins_.try_emplace(node.output(0), origin(node.input(0)));
      copies_.try_emplace(node.output(0), node.input(0));
      return;
    }
    for (int input = 0; input < node.input_size(); ++input)
      addUse(node.input(input), {&node, input});
    addInnerUses(node);
  }

  void addInnerUses(const NodeProto &node) {
    for (const auto &attribute : node.attribute())
      for (const NodeProto &inner : attribute.g().node()) {
        for (const std::string &name : inner.input())
          addUse(name, {nullptr, 0});
        addInnerUses(inner);
      }
  }

  bool isShared(const NodeProto &node, int input) const {
    auto uses = uses_.find(origin(node.input(input)));
    return uses != uses_.end() && llvm::any_of(uses->second, [&](Use use) {
             return !use.node || !isNorm(*use.node) || use.input != input ||
                    parametersOf(*use.node) != parametersOf(node);
           });
  }

  /// A key of the module to which a node belongs. If the statistic's tensor is
  /// merged with another kind of parameter, as in all fresh modules, each node
  /// is its own module.
  std::string moduleOf(const NodeProto &node, int input) const {
    std::string name = statistic(node.input(input), input);
    auto uses = uses_.find(name);
    bool isMerged =
        uses != uses_.end() && llvm::any_of(uses->second, [&](Use use) {
          return !use.node || !isNorm(*use.node) || use.input != input;
        });
    return isMerged ? message(&node) : parametersOf(node);
  }

  /// The statistic's name in the file, or one derived from the scale's.
  std::string ownName(const NodeProto &node, int input) {
    std::string &own = ownNames_[{moduleOf(node, input), input}];
    if (!own.empty())
      return own;
    own = statistic(node.input(input), input);
    if (isCalledAs(own, input) && taken_.insert(own).second)
      return own;
    StringRef scale = node.input(kScale);
    StringRef module = scale.contains('.') ? scale.rsplit('.').first : scale;
    std::string plain = message(module.str(), input == kMean ? ".running_mean"
                                                             : ".running_var");
    own = plain;
    for (int number = 2; initializers_.contains(own) || names_.contains(own) ||
                         !taken_.insert(own).second;
         ++number)
      own = message(plain, "_", number);
    return own;
  }

  void addInitializer(const std::string &from, const std::string &name) {
    if (initializers_.contains(name))
      return;
    TensorProto &own = *graph_.add_initializer();
    own = *initializers_[from];
    own.set_name(name);
    initializers_[name] = &own;
  }

  /// Scales and biases that have only a statistic's name.
  std::vector<Use> constantsThatAreStatistics() const {
    std::vector<Use> constants;
    for (const auto &[name, own] : uses_)
      for (const Use &use : own)
        if (use.node && isNorm(*use.node) && taken_.contains(name) &&
            (use.input == kScale || use.input == kBias) &&
            use.node->input(use.input) == name)
          constants.push_back(use);
    return constants;
  }

  void removeIdentities() {
    auto &nodes = *graph_.mutable_node();
    for (int i = nodes.size(); i-- > 0;)
      if (nodes[i].op_type() == "Identity" && nodes[i].output_size() == 1 &&
          initializers_.contains(nodes[i].output(0)))
        nodes.DeleteSubrange(i, 1);
  }

  /// Adds a constant before all nodes, under its own name.
  void makeConstant(Use use) {
    std::string from = use.node->input(use.input), name = from + ".constant";
    use.node->set_input(use.input, name);
    if (!names_.insert(name).second)
      return;
    NodeProto &constant = *graph_.add_node();
    constant.set_op_type("Constant");
    constant.set_name(name);
    constant.add_output(name);
    auto &value = *constant.add_attribute();
    value.set_name("value");
    value.set_type(::onnx::AttributeProto::TENSOR);
    *value.mutable_t() = *initializers_[from];
    for (int i = graph_.node_size(); --i > 0;)
      graph_.mutable_node()->SwapElements(i, i - 1);
  }

  GraphProto &graph_;
  llvm::StringMap<const TensorProto *> initializers_;
  // For outputs of Identity: the initializer, and the direct input.
  llvm::StringMap<std::string> origins_, copies_;
  llvm::StringMap<std::vector<Use>> uses_;
  llvm::StringSet<> names_, taken_;
  std::map<std::pair<std::string, int>, std::string> ownNames_;
  std::vector<std::pair<Use, std::string>> planned_;
};

} // namespace

void giveOwnStatistics(GraphProto &graph) { Separation(graph).run(); }

} // namespace gradus::onnx
