// A coin is `Cast(Less(RandomUniformLike(like), p))`; its names and its cast
// stay: `like` is put in the place of what is drawn, and p, in its shape, in
// that of the comparison.

#include "frontends/onnx/export_coins.h"

#include "frontends/onnx/alpha_dropout.h"
#include "frontends/onnx/constant.h"
#include "frontends/onnx/onnx.pb.h"

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

struct Coin {
  NodeProto *draw, *less, *cast;
  double chance;
};

class Idling {
public:
  explicit Idling(ModelFile &file)
      : file_(file), graph_(*file.model().mutable_graph()) {
    for (NodeProto &node : *graph_.mutable_node())
      for (const std::string &output : node.output())
        makers_[output] = &node;
    findUses(graph_, /*isInside=*/false);
  }

  void run() {
    std::vector<Coin> coins;
    for (NodeProto &node : *graph_.mutable_node()) {
      if (std::optional<Coin> coin = coinAt(node))
        coins.push_back(*coin);
      if (isBernoulli(node))
        castChances(node);
    }
    for (const Coin &coin : coins)
      idleAlpha(coin);
    for (const Coin &coin : coins)
      idle(coin);
    addShapes();
  }

private:
  struct Use {
    NodeProto *node; // null: an output, or a node of a branch
    int input;
  };

  void findUses(GraphProto &graph, bool isInside) {
    for (NodeProto &node : *graph.mutable_node()) {
      for (int input = 0; input < node.input_size(); ++input)
        uses_[node.input(input)].push_back({isInside ? nullptr : &node, input});
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

  /// The only node that sees a value, not only its type.
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

  /// The one number that all elements of a value are.
  std::optional<double> numberOf(const std::string &value) {
    for (const TensorProto &tensor : graph_.initializer())
      if (tensor.name() == value)
        return numberOf(tensor);
    const NodeProto *maker = makerOf(value);
    if (!maker)
      return std::nullopt;
    if (maker->op_type() == "Constant") {
      if (const AttributeProto *number = attribute(*maker, "value_float"))
        return number->f();
      const AttributeProto *tensor = attribute(*maker, "value");
      return tensor ? numberOf(tensor->t()) : std::nullopt;
    }
    if (maker->input_size() > 0 &&
        isOneOf(*maker, {"Cast", "CastLike", "Identity", "Expand", "Reshape",
                         "Unsqueeze", "Squeeze"}))
      return numberOf(maker->input(0));
    return std::nullopt;
  }

  std::optional<double> numberOf(const TensorProto &tensor) {
    absl::StatusOr<mlir::DenseElementsAttr> elements =
        file_.elements(tensor, context_);
    if (!elements.ok() || !elements->isSplat())
      return std::nullopt;
    HostTensor values = fromAttribute(*elements).tensor;
    if (!values.floats.empty())
      return values.floats[0];
    if (!values.integers.empty())
      return double(values.integers[0]);
    return std::nullopt;
  }

  std::optional<double> chanceOf(const std::string &value) {
    std::optional<double> chance = numberOf(value);
    return chance && *chance >= 0 && *chance <= 1 ? chance : std::nullopt;
  }

  //===-- coins -----------------------------------------------------------===//

  static bool drawsUniform(const NodeProto &node) {
    const AttributeProto *low = attribute(node, "low"),
                         *high = attribute(node, "high");
    return isOneOf(node, {"RandomUniform", "RandomUniformLike"}) &&
           (!low || low->f() == 0) && (!high || high->f() == 1);
  }

  std::optional<Coin> coinAt(NodeProto &less) {
    if (less.op_type() != "Less" || less.input_size() != 2)
      return std::nullopt;
    NodeProto *draw = makerOf(less.input(0)), *cast = onlyUser(less.output(0));
    if (!draw || !drawsUniform(*draw) || onlyUser(less.input(0)) != &less ||
        !cast || !isOneOf(*cast, {"Cast", "CastLike"}) || !givesFloats(*cast))
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

  /// Of casts like another value, whose type is not here, exporters write none
  /// else.
  static bool givesFloats(const NodeProto &cast) {
    const AttributeProto *to = attribute(cast, "to");
    return !to || isFloat(to->i());
  }

  void idle(const Coin &coin) {
    NodeProto &draw = *coin.draw, &less = *coin.less;
    const AttributeProto *dtype = attribute(draw, "dtype");
    int64_t type = dtype ? dtype->i() : int64_t(TensorProto::UNDEFINED);
    if (draw.op_type() == "RandomUniform") {
      becomeZeros(draw, dtype ? type : int64_t(TensorProto::FLOAT));
    } else if (dtype) {
      become(draw, "Cast", {draw.input(0)});
      setInteger(draw, "to", type);
    } else {
      become(draw, "Identity", {draw.input(0)});
    }
    std::string shape = less.output(0) + "_shape";
    while (makers_.contains(shape))
      shape += "_";
    shapes_[less.output(0)] = {less.input(0), shape};
    become(less, "Expand", {less.input(1), shape});
    forgetType(less.output(0)); // No longer a condition.
  }

  static void setInteger(NodeProto &node, const char *name, int64_t value) {
    AttributeProto &made = *node.add_attribute();
    made.set_name(name);
    made.set_type(AttributeProto::INT);
    made.set_i(value);
  }

  static void becomeZeros(NodeProto &node, int64_t type) {
    TensorProto zeros;
    int64_t bytes = type == TensorProto::DOUBLE  ? 8
                    : type == TensorProto::FLOAT ? 4
                                                 : 2;
    if (const AttributeProto *shape = attribute(node, "shape"))
      for (int64_t size : shape->ints()) {
        zeros.add_dims(size);
        bytes *= size;
      }
    zeros.set_data_type(int32_t(type));
    zeros.set_raw_data(std::string(bytes, '\0'));
    become(node, "Constant", {});
    AttributeProto &made = *node.add_attribute();
    made.set_name("value");
    made.set_type(AttributeProto::TENSOR);
    *made.mutable_t() = std::move(zeros);
  }

  bool isBernoulli(const NodeProto &node) {
    const AttributeProto *dtype = attribute(node, "dtype");
    return node.op_type() == "Bernoulli" && (!dtype || isFloat(dtype->i())) &&
           chanceOf(node.input(0));
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

  /// In front of the nodes that need them.
  void addShapes() {
    if (shapes_.empty())
      return;
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph_.mutable_node());
    for (NodeProto &node : nodes) {
      auto found =
          node.output_size() ? shapes_.find(node.output(0)) : shapes_.end();
      if (found != shapes_.end()) {
        NodeProto &shape = *graph_.add_node();
        become(shape, "Shape", {found->second.first});
        shape.set_name(node.name() + "_shape");
        shape.add_output(found->second.second);
      }
      graph_.add_node()->Swap(&node);
    }
  }

  //===-- alpha dropout ---------------------------------------------------===//

  /// The other operand, of a sum or product of a value and a number.
  std::optional<double> numberWith(const std::string &value,
                                   const NodeProto *node, const char *type) {
    if (!node || node->op_type() != type || node->input_size() != 2)
      return std::nullopt;
    bool isFirst = node->input(0) == value;
    return isFirst || node->input(1) == value ? numberOf(node->input(isFirst))
                                              : std::nullopt;
  }

  /// As random.cpp finds it.
  void idleAlpha(const Coin &coin) {
    const std::string &value = coin.cast->output(0);
    for (const Use &use : uses_.lookup(value))
      if (numberWith(value, use.node, "Add") == -1)
        if (NodeProto *sum = alphaOf(coin, *use.node))
          become(*sum, "Identity", {alphaInput_});
  }

  NodeProto *alphaOf(const Coin &coin, const NodeProto &first) {
    const std::string &value = coin.cast->output(0);
    NodeProto *scaled = onlyUser(first.output(0));
    std::optional<double> s = numberWith(first.output(0), scaled, "Mul");
    NodeProto *shift = s ? onlyUser(scaled->output(0)) : nullptr;
    std::optional<double> b =
        s ? numberWith(scaled->output(0), shift, "Add") : std::nullopt;
    NodeProto *sum = b ? onlyUser(shift->output(0)) : nullptr;
    if (!sum || sum->op_type() != "Add")
      return nullptr;
    const NodeProto *product =
        makerOf(sum->input(sum->input(0) == shift->output(0)));
    if (!product || product->op_type() != "Mul")
      return nullptr;
    for (int side : {0, 1}) {
      std::optional<double> a =
          numberWith(value, makerOf(product->input(side)), "Mul");
      if (a && isAlphaDropout(coin.chance, *a, *s, *b)) {
        alphaInput_ = product->input(1 - side);
        return sum;
      }
    }
    return nullptr;
  }

  ModelFile &file_;
  GraphProto &graph_;
  mlir::MLIRContext context_;
  llvm::StringMap<NodeProto *> makers_;
  llvm::StringMap<std::vector<Use>> uses_;
  /// By what is expanded: the value whose shape it gets, the shape's name.
  std::map<std::string, std::pair<std::string, std::string>> shapes_;
  std::string alphaInput_;
};

} // namespace

void makeCoinsIdle(ModelFile &file) { Idling(file).run(); }

} // namespace gradus::onnx
