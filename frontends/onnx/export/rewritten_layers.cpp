// Applies passes/model/less_bn.cpp and passes/model/fc_to_fn.cpp to nodes; see
// rewritten_layers.h.

#include "frontends/onnx/export/rewritten_layers.h"

#include "frontends/onnx/export/new_node.h"
#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/pytorch/export_constants.h"
#include "messages/message.h"
#include "passes/model/fc_to_fn.h"
#include "runtime/well_known.h"

#include "llvm/ADT/StringRef.h"

#include <cstring>
#include <set>

namespace gradus::onnx {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

constexpr const char *kRemoved = well_known::kLessBnRemoved;
constexpr llvm::StringLiteral kMultiplier(well_known::kMultiplier);

/// The first number of a trained f32 tensor; `otherwise` if there is none.
float numberOf(const TrainedTensors &trained, const char *name,
               float otherwise) {
  auto found = trained.find(name);
  if (found != trained.end() && found->second->bytes.size() >= sizeof(float))
    std::memcpy(&otherwise, found->second->bytes.data(), sizeof(float));
  return otherwise;
}

int64_t integer(const NodeProto &node, const char *name, int64_t otherwise) {
  for (const AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.i();
  return otherwise;
}

double real(const NodeProto &node, const char *name, double otherwise) {
  for (const AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.f();
  return otherwise;
}

class Rewriter {
public:
  Rewriter(ModelFile &file, const TrainedTensors &trained)
      : file_(file), graph_(*file.model().mutable_graph()), trained_(trained) {}

  absl::Status run() {
    if (trained_.contains(kRemoved))
      GRADUS_RETURN_IF_ERROR(removeNormalizations());
    for (const auto &[name, tensor] : trained_)
      if (llvm::StringRef(name).ends_with(kMultiplier) && !isSlot(name) &&
          !initializer(name))
        GRADUS_RETURN_IF_ERROR(normalizeHead(name));
    return absl::OkStatus();
  }

private:
  //===-- names -----------------------------------------------------------===//

  TensorProto *initializer(const std::string &name) {
    for (TensorProto &tensor : *graph_.mutable_initializer())
      if (tensor.name() == name)
        return &tensor;
    return nullptr;
  }

  const NodeProto *makerOf(const std::string &value) const {
    for (const NodeProto &node : graph_.node())
      for (const std::string &output : node.output())
        if (output == value)
          return &node;
    return nullptr;
  }

  /// Whether a name is an optimizer's or average's state of a parameter:
  /// `adamw/first_moment/fc.multiplier`.
  bool isSlot(llvm::StringRef name) const {
    while (name.contains('/')) {
      name = name.split('/').second;
      if (trained_.contains(name.str()))
        return true;
    }
    return false;
  }

  /// The initializer behind Identity and Transpose; empty if there is none.
  std::string origin(std::string value) {
    for (int most = graph_.node_size(); most > 0; --most) { // even in a cycle
      const NodeProto *maker = makerOf(value);
      if (!maker)
        break;
      if (!isMove(*maker))
        return "";
      value = maker->input(0);
    }
    return initializer(value) ? value : "";
  }

  static bool isMove(const NodeProto &node) {
    return (node.op_type() == "Identity" || node.op_type() == "Transpose") &&
           node.input_size() == 1 && node.output_size() == 1;
  }

  bool isTrained(const std::string &value) {
    return trained_.contains(origin(value));
  }

  int usesOf(const std::string &value) const {
    int uses = 0;
    for (const NodeProto &node : graph_.node())
      uses += llvm::count(node.input(), value);
    for (const auto &output : graph_.output())
      uses += output.name() == value;
    return uses;
  }

  /// Removes an initializer that is no longer read, and the nodes that only
  /// moved it.
  void dropUnused(const std::string &value) {
    if (usesOf(value) > 0)
      return;
    auto &nodes = *graph_.mutable_node();
    for (int i = nodes.size(); i-- > 0;)
      if (isMove(nodes[i]) && nodes[i].output(0) == value) {
        std::string input = nodes[i].input(0);
        nodes.DeleteSubrange(i, 1);
        return dropUnused(input);
      }
    auto &tensors = *graph_.mutable_initializer();
    for (int i = tensors.size(); i-- > 0;)
      if (tensors[i].name() == value)
        tensors.DeleteSubrange(i, 1);
    auto &inputs = *graph_.mutable_input();
    for (int i = inputs.size(); i-- > 0;)
      if (inputs[i].name() == value)
        inputs.DeleteSubrange(i, 1);
  }

  //===-- less_bn ---------------------------------------------------------===//

  /// Whether none of the node's states was trained.
  bool isRemoved(const NodeProto &node) {
    if (node.op_type() != "BatchNormalization" || node.input_size() != 5)
      return false;
    for (int i = 1; i < 5; ++i)
      if (origin(node.input(i)).empty() || isTrained(node.input(i)))
        return false;
    return true;
  }

  absl::Status removeNormalizations() {
    std::vector<NodeProto *> removed;
    for (NodeProto &node : *graph_.mutable_node())
      if (isRemoved(node))
        removed.push_back(&node);
    int expected = static_cast<int>(numberOf(trained_, kRemoved, 0));
    if (int(removed.size()) != expected)
      return invalid("was trained without ", expected,
                     " of its batch normalizations (less_bn), but ",
                     removed.size(),
                     " of the file's have no trained states; export with the "
                     "file that was trained");
    std::set<std::string> unread;
    for (NodeProto *node : removed) {
      unread.insert(node->input().begin() + 1, node->input().end());
      node->set_op_type("Identity");
      node->clear_attribute();
      node->mutable_input()->DeleteSubrange(1, 4);
      while (node->output_size() > 1)
        node->mutable_output()->RemoveLast();
    }
    for (const std::string &value : unread)
      dropUnused(value);
    return absl::OkStatus();
  }

  //===-- fc_to_fn --------------------------------------------------------===//

  /// Whether a node is the layer's matmul with its weight.
  bool isProduct(const NodeProto &node, llvm::StringRef layer) {
    if ((node.op_type() != "Gemm" && node.op_type() != "MatMul") ||
        node.input_size() < 2 || node.output_size() != 1)
      return false;
    std::string weight = origin(node.input(1));
    return !weight.empty() && trained_.contains(weight) &&
           llvm::StringRef(weight).rsplit('.').first == layer;
  }

  absl::StatusOr<int> findProduct(const std::string &multiplier) {
    llvm::StringRef layer = multiplier;
    layer.consume_back(kMultiplier);
    int found = -1, count = 0;
    for (int i = 0; i < graph_.node_size(); ++i)
      if (isProduct(graph_.node(i), layer)) {
        found = i;
        ++count;
      }
    if (count == 1)
      return found;
    return invalid("was trained with \"", multiplier,
                   "\" (fc_to_fn), which needs one dense layer of that name; "
                   "the file has ",
                   count);
  }

  absl::Status checkForm(const NodeProto &node, const std::string &multiplier) {
    const TensorProto &weight = *initializer(origin(node.input(1)));
    const char *reason =
        file_.opset() < 13 ? "an operator set of 13 or newer"
        : weight.data_type() != TensorProto::FLOAT ? "weights of f32"
        : weight.dims_size() != 2                  ? "a weight of rank 2"
        : integer(node, "transA", 0) != 0          ? "a Gemm without transA"
        : real(node, "alpha", 1) != 1 || real(node, "beta", 1) != 1
            ? "a Gemm without alpha and beta"
            : nullptr;
    if (!reason)
      return absl::OkStatus();
    return invalid("was trained with \"", multiplier,
                   "\" (fc_to_fn), to export which the file needs ", reason);
  }

  void insert(int place, NodeProto node) {
    *graph_.add_node() = std::move(node);
    for (int i = graph_.node_size() - 1; i > place; --i)
      graph_.mutable_node()->SwapElements(i, i - 1);
  }

  template <typename Number>
  void addInitializer(const std::string &name, TensorProto::DataType type,
                      std::vector<int64_t> shape, Number value) {
    TensorProto &tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (int64_t size : shape)
      tensor.add_dims(size);
    tensor.set_raw_data(&value, sizeof(value));
  }

  /// Inserts value / sqrt(max(sum value^2, epsilon)) along an axis; returns the
  /// number of new nodes.
  int insertNormalized(int place, const std::string &value,
                       const std::string &name, int64_t axis) {
    addInitializer(name + "/axis", TensorProto::INT64, {1}, axis);
    std::vector<NodeProto> nodes = {
        newNode("Mul", {value, value}, name + "/squares"),
        newNode("ReduceSum", {name + "/squares", name + "/axis"},
                name + "/sum"),
        newNode("Max", {name + "/sum", epsilonName_}, name + "/larger"),
        newNode("Sqrt", {name + "/larger"}, name + "/length"),
        newNode("Div", {value, name + "/length"}, name)};
    for (size_t i = 0; i < nodes.size(); ++i)
      insert(place + i, nodes[i]);
    return nodes.size();
  }

  absl::Status normalizeHead(const std::string &multiplier) {
    GRADUS_ASSIGN_OR_RETURN(int place, findProduct(multiplier));
    GRADUS_RETURN_IF_ERROR(checkForm(graph_.node(place), multiplier));
    GRADUS_RETURN_IF_ERROR(settleBias(graph_.node(place), multiplier));
    epsilonName_ = multiplier + "/epsilon";
    addInitializer(epsilonName_, TensorProto::FLOAT, {},
                   numberOf(trained_, kFcToFnEpsilon,
                            static_cast<float>(usualFnEpsilon())));
    addInitializer(multiplier, TensorProto::FLOAT, {1}, 1.0f);
    NodeProto product = graph_.node(place);
    bool isTransposed =
        product.op_type() == "Gemm" && integer(product, "transB", 0) != 0;
    int inserted =
        insertNormalized(place, product.input(0), multiplier + "/input", -1);
    inserted +=
        insertNormalized(place + inserted, product.input(1),
                         multiplier + "/weight", isTransposed ? -1 : -2);
    NodeProto &node = *graph_.mutable_node(place + inserted);
    node.set_input(0, multiplier + "/input");
    node.set_input(1, multiplier + "/weight");
    return node.input_size() > 2 ? multiplyGemm(place + inserted, multiplier)
                                 : multiplySum(place + inserted, multiplier);
  }

  /// Reads from the record whether the layer had a bias and keeps it. Older
  /// versions of Gradus wrote no record: then the bias was kept if the
  /// checkpoint has it. A constant does not count as the layer's bias.
  absl::Status settleBias(const NodeProto &product,
                          const std::string &multiplier) {
    hadBias_ = trained_.contains(kFcToFnBias);
    keepsBias_ = numberOf(trained_, kFcToFnBias, 0) != 0;
    std::string bias = product.input_size() > 2 ? product.input(2)
                                                : biasBehind(product.output(0));
    if (hadBias_ || bias.empty())
      return absl::OkStatus();
    std::string name = origin(bias);
    bool isGemm = product.input_size() > 2, trained = isTrained(bias),
         isConstant = !name.empty() && !trained &&
                      (initializer(name)->dims_size() == 0 ||
                       exportConstants(file_, exportMarks(file_)).count(name));
    if (isConstant && !isGemm)
      return absl::OkStatus();
    if (isConstant || name.empty() || usesOf(bias) > 1 || usesOf(name) > 1)
      return invalid("was trained with \"", multiplier,
                     "\" (fc_to_fn) without a record of the layer's bias, as "
                     "by an older Gradus; whether \"",
                     bias, "\" is part of the layer cannot be told");
    hadBias_ = true;
    keepsBias_ = trained;
    return absl::OkStatus();
  }

  /// The operand of the Add after a matmul; empty if there is none, or if the
  /// matmul is an output itself, so that the layer has no bias.
  std::string biasBehind(const std::string &output) {
    std::string product = handedOn(output);
    int sum = sumOf(product);
    bool isOutput = llvm::any_of(graph_.output(), [&](const auto &each) {
      return each.name() == product;
    });
    if (sum < 0 || isOutput)
      return "";
    const NodeProto &node = graph_.node(sum);
    return node.input(node.input(0) == product);
  }

  /// A kept bias is added before the multiplier is applied.
  absl::Status multiplyGemm(int place, const std::string &multiplier) {
    NodeProto &node = *graph_.mutable_node(place);
    if (!keepsBias_) {
      std::string bias = node.input(2);
      node.mutable_input()->RemoveLast();
      dropUnused(bias);
    }
    multiplyOutput(placeOf(multiplier + "/input"), multiplier);
    return absl::OkStatus();
  }

  /// The index of the node that reads a value of ours.
  int placeOf(const std::string &input) const {
    for (int i = 0; i < graph_.node_size(); ++i)
      if (graph_.node(i).input_size() > 0 && graph_.node(i).input(0) == input)
        return i;
    return -1;
  }

  void multiplyOutput(int place, const std::string &multiplier) {
    NodeProto &node = *graph_.mutable_node(place);
    std::string output = node.output(0), plain = multiplier + "/product";
    node.set_output(0, plain);
    insert(place + 1, newNode("Mul", {multiplier, plain}, output));
  }

  /// Follows Identity nodes after a matmul.
  std::string handedOn(std::string product) const {
    for (int i = 0; i < graph_.node_size() && usesOf(product) == 1; ++i) {
      const NodeProto &node = graph_.node(i);
      if (node.op_type() == "Identity" && isMove(node) &&
          node.input(0) == product)
        product = node.output(0);
    }
    return product;
  }

  /// The index of the Add of a bias after a matmul; -1 if there is none.
  int sumOf(const std::string &product) {
    for (int i = 0; i < graph_.node_size(); ++i) {
      const NodeProto &node = graph_.node(i);
      if (node.op_type() == "Add" && node.input_size() == 2 &&
          node.output_size() == 1 &&
          (node.input(0) == product || node.input(1) == product) &&
          !origin(node.input(node.input(0) == product)).empty())
        return i;
    }
    return -1;
  }

  absl::Status multiplySum(int place, const std::string &multiplier) {
    if (!hadBias_) {
      multiplyOutput(place, multiplier);
      return absl::OkStatus();
    }
    std::string product = handedOn(graph_.node(place).output(0));
    int sum = sumOf(product);
    if (sum < 0)
      return invalid("was trained with \"", multiplier,
                     "\" (fc_to_fn) in a layer with a bias, but no Add of the "
                     "file gives its layer's product one");
    if (usesOf(product) > 1)
      return invalid("was trained with \"", multiplier,
                     "\" (fc_to_fn), but the file uses its layer's product "
                     "also without the bias, which cannot be exported");
    NodeProto &node = *graph_.mutable_node(sum);
    std::string bias = node.input(node.input(0) == product);
    if (keepsBias_) {
      multiplyOutput(sum, multiplier);
      return absl::OkStatus();
    }
    node.set_op_type("Mul");
    node.set_input(0, multiplier);
    node.set_input(1, product);
    dropUnused(bias);
    return absl::OkStatus();
  }

  ModelFile &file_;
  GraphProto &graph_;
  const TrainedTensors &trained_;
  std::string epsilonName_;
  bool hadBias_ = false, keepsBias_ = false;
};

} // namespace

absl::Status rewriteLayers(ModelFile &file, const TrainedTensors &trained) {
  return Rewriter(file, trained).run();
}

} // namespace gradus::onnx
