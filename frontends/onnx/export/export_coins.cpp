// Replaces random masks `Cast(Less(RandomUniformLike(like), p))`. Their names
// and casts stay: `like` replaces the random numbers, and p, expanded to its
// shape, replaces the comparison. New nodes that give this shape come first.

#include "frontends/onnx/export/export_coins.h"

#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/importer/constant.h"
#include "frontends/onnx/pytorch/alpha_dropout.h"

#include "mlir/IR/MLIRContext.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace gradus::onnx {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

const AttributeProto *attribute(const NodeProto &node, llvm::StringRef name) {
  for (const AttributeProto &each : node.attribute())
    if (each.name() == name)
      return &each;
  return nullptr;
}

/// The first output; "" for a malformed node.
std::string outputOf(const NodeProto &node) {
  return node.output_size() ? node.output(0) : "";
}

bool isOneOf(const NodeProto &node,
             std::initializer_list<llvm::StringRef> ops) {
  return llvm::is_contained(ops, llvm::StringRef(node.op_type()));
}

void become(NodeProto &node, const char *type,
            const std::vector<std::string> &inputs) {
  node.set_op_type(type);
  node.clear_attribute();
  node.clear_input();
  for (const std::string &input : inputs)
    node.add_input(input);
}

/// Turns the node into a constant.
TensorProto &becomeConstant(NodeProto &node, int64_t type) {
  become(node, "Constant", {});
  AttributeProto &value = *node.add_attribute();
  value.set_name("value");
  value.set_type(AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(int32_t(type));
  return *value.mutable_t();
}

void becomeZero(NodeProto &node, int64_t type) {
  size_t bytes = type == TensorProto::DOUBLE  ? 8
                 : type == TensorProto::FLOAT ? 4
                                              : 2;
  becomeConstant(node, type).set_raw_data(std::string(bytes, '\0'));
}

void becomeIntegers(NodeProto &node,
                    const google::protobuf::RepeatedField<int64_t> &integers) {
  TensorProto &tensor = becomeConstant(node, TensorProto::INT64);
  tensor.add_dims(integers.size());
  *tensor.mutable_int64_data() = integers;
}

/// The value of all elements, and whether it is a scalar or similar, so that it
/// does not change the shape of other operands.
struct Number {
  double value;
  bool isScalar;
};

struct Coin {
  NodeProto *draw, *less, *cast;
  double chance;
};

struct AlphaDropout {
  NodeProto *sum; // the last node
  std::string input;
};

class Idling {
public:
  explicit Idling(ModelFile &file)
      : file_(file), graph_(*file.model().mutable_graph()) {
    for (NodeProto &node : *graph_.mutable_node())
      for (const std::string &output : node.output())
        if (!output.empty())
          makers_[output] = &node;
    for (const TensorProto &tensor : graph_.initializer())
      initializers_[tensor.name()] = &tensor;
    findUses(graph_, /*isInside=*/false);
  }

  /// Returns the number of masks with a number added.
  int run() {
    std::vector<Coin> coins;
    for (NodeProto &node : *graph_.mutable_node()) {
      if (std::optional<Coin> coin = coinAt(node))
        coins.push_back(*coin);
      if (isBernoulli(node))
        castChances(node);
    }
    int added = 0;
    for (const Coin &coin : coins)
      added += !idleAlpha(coin);
    for (const Coin &coin : coins)
      idle(coin);
    addShapes();
    return added;
  }

private:
  struct Use {
    NodeProto *node; // null: an output of the graph, or a nested node
    int input;
  };

  void findUses(GraphProto &graph, bool isInside) {
    for (NodeProto &node : *graph.mutable_node()) {
      for (int input = 0; input < node.input_size(); ++input)
        if (!node.input(input).empty())
          uses_[node.input(input)].push_back(
              {isInside ? nullptr : &node, input});
      for (AttributeProto &each : *node.mutable_attribute()) {
        if (each.has_g())
          findUses(*each.mutable_g(), true);
        for (GraphProto &branch : *each.mutable_graphs())
          findUses(branch, true);
      }
    }
    for (const auto &output : graph.output())
      uses_[output.name()].push_back({nullptr, 0});
  }

  NodeProto *makerOf(const std::string &value) const {
    return makers_.lookup(value);
  }

  /// The only node that reads a value (apart from its type); null otherwise.
  NodeProto *onlyUser(const std::string &value) const {
    NodeProto *user = nullptr;
    for (const Use &use : uses_.lookup(value)) {
      if (use.node && use.node->op_type() == "CastLike" && use.input == 1)
        continue;
      if (!use.node || user)
        return nullptr;
      user = use.node;
    }
    return user;
  }

  //===-- numbers ---------------------------------------------------------===//

  /// The value of a tensor whose elements are all equal. Nodes may form a
  /// cycle.
  std::optional<Number> numberOf(std::string value) {
    bool isScalar = true;
    for (int steps = 0; steps <= graph_.node_size(); ++steps) {
      if (const TensorProto *tensor = initializers_.lookup(value))
        return numberOf(*tensor, isScalar);
      const NodeProto *maker = makerOf(value);
      if (!maker)
        break;
      if (maker->op_type() == "Constant") {
        if (const AttributeProto *number = attribute(*maker, "value_float"))
          return Number{number->f(), isScalar};
        const AttributeProto *tensor = attribute(*maker, "value");
        return tensor ? numberOf(tensor->t(), isScalar) : std::nullopt;
      }
      bool keepsShape = isOneOf(*maker, {"Cast", "CastLike", "Identity"});
      if (maker->input_size() == 0 ||
          (!keepsShape &&
           !isOneOf(*maker, {"Expand", "Reshape", "Unsqueeze", "Squeeze"})))
        break;
      isScalar &= keepsShape;
      value = maker->input(0);
    }
    return std::nullopt;
  }

  std::optional<Number> numberOf(const TensorProto &tensor, bool isScalar) {
    absl::StatusOr<mlir::DenseElementsAttr> elements =
        file_.elements(tensor, context_);
    if (!elements.ok() || !elements->isSplat())
      return std::nullopt;
    isScalar &= elements->getNumElements() == 1 && tensor.dims_size() <= 1;
    HostTensor values = fromAttribute(*elements).tensor;
    if (!values.floats.empty())
      return Number{values.floats[0], isScalar};
    if (!values.integers.empty())
      return Number{double(values.integers[0]), isScalar};
    return std::nullopt;
  }

  std::optional<double> chanceOf(const std::string &value) {
    std::optional<Number> chance = numberOf(value);
    return chance && chance->value >= 0 && chance->value <= 1
               ? std::optional(chance->value)
               : std::nullopt;
  }

  //===-- Bernoulli masks -------------------------------------------------===//

  static bool drawsUniform(const NodeProto &node) {
    const AttributeProto *low = attribute(node, "low"),
                         *high = attribute(node, "high");
    return isOneOf(node, {"RandomUniform", "RandomUniformLike"}) &&
           (!low || low->f() == 0) && (!high || high->f() == 1) &&
           givesFloats(node, "dtype") && hasShape(node);
  }

  static bool hasShape(const NodeProto &draw) {
    if (draw.op_type() == "RandomUniformLike")
      return draw.input_size() == 1;
    const AttributeProto *shape = attribute(draw, "shape");
    return shape && isWithin(shape->ints(), kMostElements);
  }

  std::optional<Coin> coinAt(NodeProto &less) {
    if (less.op_type() != "Less" || less.input_size() != 2)
      return std::nullopt;
    NodeProto *draw = makerOf(less.input(0)), *cast = onlyUser(outputOf(less));
    if (!draw || !drawsUniform(*draw) || onlyUser(less.input(0)) != &less ||
        !cast || !isOneOf(*cast, {"Cast", "CastLike"}) ||
        !givesFloats(*cast, "to"))
      return std::nullopt;
    std::optional<double> chance = chanceOf(less.input(1));
    return chance ? std::optional<Coin>({draw, &less, cast, *chance})
                  : std::nullopt;
  }

  static bool isFloat(int64_t type) {
    return llvm::is_contained<int64_t>({TensorProto::FLOAT, TensorProto::DOUBLE,
                                        TensorProto::FLOAT16,
                                        TensorProto::BFLOAT16},
                                       type);
  }

  /// Whether a node gives floats. Without a type the result has the type of
  /// another value, which is not known here; exporters only use floats there.
  static bool givesFloats(const NodeProto &node, const char *key) {
    const AttributeProto *type = attribute(node, key);
    return !type || isFloat(type->i());
  }

  void idle(const Coin &coin) {
    NodeProto &draw = *coin.draw, &less = *coin.less;
    const AttributeProto *dtype = attribute(draw, "dtype");
    int64_t type = dtype ? dtype->i() : int64_t(TensorProto::FLOAT);
    NodeProto &shape = addShape(less);
    if (draw.op_type() == "RandomUniform") {
      becomeIntegers(shape, attribute(draw, "shape")->ints());
      becomeZero(draw, type); // casts may need its type
      forgetType(draw.output(0));
    } else {
      become(shape, "Shape", {less.input(0)});
      become(draw, dtype ? "Cast" : "Identity", {draw.input(0)});
      if (dtype)
        setInteger(draw, "to", type);
    }
    become(less, "Expand", {less.input(1), shape.output(0)});
    forgetType(less.output(0)); // no longer boolean
  }

  static void setInteger(NodeProto &node, const char *name, int64_t value) {
    AttributeProto &made = *node.add_attribute();
    made.set_name(name);
    made.set_type(AttributeProto::INT);
    made.set_i(value);
  }

  bool isBernoulli(const NodeProto &node) {
    return node.op_type() == "Bernoulli" && node.input_size() == 1 &&
           givesFloats(node, "dtype") && chanceOf(node.input(0));
  }

  static void castChances(NodeProto &node) {
    const AttributeProto *dtype = attribute(node, "dtype");
    int64_t type = dtype ? dtype->i() : 0;
    become(node, dtype ? "Cast" : "Identity", {node.input(0)});
    if (type)
      setInteger(node, "to", type);
  }

  void forgetType(const std::string &value) {
    auto &infos = *graph_.mutable_value_info();
    for (int i = infos.size(); i-- > 0;)
      if (infos[i].name() == value)
        infos.DeleteSubrange(i, 1);
  }

  //===-- shapes ----------------------------------------------------------===//

  /// Creates a node to put in front of this one; the caller turns it into one
  /// that gives a shape.
  NodeProto &addShape(const NodeProto &node) {
    std::string name = node.output(0) + "_shape";
    while (makers_.contains(name) || uses_.contains(name) ||
           initializers_.contains(name))
      name += "_";
    NodeProto &shape = shapes_[node.output(0)];
    shape.set_name(node.name() + "_shape");
    shape.add_output(name);
    return shape;
  }

  void addShapes() {
    if (shapes_.empty())
      return;
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph_.mutable_node());
    for (NodeProto &node : nodes) {
      auto shape = shapes_.find(outputOf(node));
      if (shape != shapes_.end())
        graph_.add_node()->Swap(&shape->second);
      graph_.add_node()->Swap(&node);
    }
  }

  //===-- alpha dropout ---------------------------------------------------===//

  /// The constant operand of a sum or product with `value`.
  std::optional<double> numberWith(const std::string &value,
                                   const NodeProto *node, const char *type) {
    if (!node || node->op_type() != type || node->input_size() != 2)
      return std::nullopt;
    bool isFirst = node->input(0) == value;
    if (!isFirst && node->input(1) != value)
      return std::nullopt;
    std::optional<Number> number = numberOf(node->input(isFirst));
    return number && number->isScalar ? std::optional(number->value)
                                      : std::nullopt;
  }

  /// Makes alpha dropouts return their input, as random.cpp does. Returns false
  /// if the mask is also added to a number in another way.
  bool idleAlpha(const Coin &coin) {
    std::string value = outputOf(*coin.cast);
    bool isPlain = true;
    for (const Use &use : uses_.lookup(value)) {
      if (!use.node || !isOneOf(*use.node, {"Add", "Sub"}) ||
          use.node->input_size() != 2)
        continue;
      if (std::optional<AlphaDropout> alpha = alphaOf(coin, *use.node)) {
        NodeProto &shape = addShape(*alpha->sum); // it may be wider than x
        become(shape, "Shape", {value});
        become(*alpha->sum, "Expand", {alpha->input, shape.output(0)});
      } else if (numberOf(use.node->input(1 - use.input))) {
        isPlain = false;
      }
    }
    return isPlain;
  }

  std::optional<AlphaDropout> alphaOf(const Coin &coin,
                                      const NodeProto &first) {
    std::string value = outputOf(*coin.cast);
    if (numberWith(value, &first, "Add") != -1)
      return std::nullopt;
    NodeProto *scaled = onlyUser(outputOf(first));
    std::optional<double> s = numberWith(outputOf(first), scaled, "Mul");
    NodeProto *shift = s ? onlyUser(outputOf(*scaled)) : nullptr;
    std::optional<double> b =
        s ? numberWith(outputOf(*scaled), shift, "Add") : std::nullopt;
    NodeProto *sum = b ? onlyUser(outputOf(*shift)) : nullptr;
    if (!sum || sum->op_type() != "Add" || sum->input_size() != 2 ||
        outputOf(*sum).empty())
      return std::nullopt;
    const NodeProto *product =
        makerOf(sum->input(sum->input(0) == outputOf(*shift)));
    if (!product || product->op_type() != "Mul" || product->input_size() != 2)
      return std::nullopt;
    for (int side : {0, 1}) {
      std::optional<double> a =
          numberWith(value, makerOf(product->input(side)), "Mul");
      if (a && isAlphaDropout(coin.chance, *a, *s, *b))
        return AlphaDropout{sum, product->input(1 - side)};
    }
    return std::nullopt;
  }

  ModelFile &file_;
  GraphProto &graph_;
  mlir::MLIRContext context_;
  llvm::StringMap<NodeProto *> makers_;
  llvm::StringMap<const TensorProto *> initializers_;
  llvm::StringMap<std::vector<Use>> uses_;
  std::map<std::string, NodeProto> shapes_; // by the output of the next node
};

} // namespace

int makeCoinsIdle(ModelFile &file) { return Idling(file).run(); }

} // namespace gradus::onnx
