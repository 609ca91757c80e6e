// Imports If and Loop with conditions that are known: the chosen branch, or the
// body once for each iteration, becomes part of the surrounding graph.

#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/operators.h"

namespace gradus::onnx {
namespace {

using namespace mlir;
using Entry = Importer::Entry;
using ::onnx::GraphProto;

/// Reads the constant number or boolean that decides.
absl::StatusOr<int64_t> decided(const Node &node, const Entry &entry,
                                const char *what) {
  if (!entry.constant)
    return node.error("its ", what,
                      " depends on the model's inputs; only what is known "
                      "beforehand is supported");
  if (entry.constant->tensor.isFloat || entry.constant->tensor.size() != 1)
    return node.error("its ", what, " is no single whole number");
  return entry.constant->tensor.integers[0];
}

absl::Status addSubgraph(Importer &importer, const Node &node,
                         const GraphProto &graph) {
  constexpr int64_t most = 200000;
  importer.subgraphNodes += 1 + graph.node_size();
  if (importer.subgraphNodes > most)
    return node.error("makes the model larger than ", most, " nodes");
  GRADUS_RETURN_IF_ERROR(importer.defineInitializers(graph));
  addNodes(graph, node.opset(), importer);
  return absl::OkStatus();
}

//===-- If ----------------------------------------------------------------===//

absl::Status branch(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Entry entry, importer.meaning(node, node.input(0)));
  if (!entry.constant)
    return node.error("its condition depends on the model's inputs; only what "
                      "is known beforehand is supported. Compute both branches "
                      "and choose with torch.where(condition, a, b)");
  GRADUS_ASSIGN_OR_RETURN(int64_t holds, decided(node, entry, "condition"));
  const GraphProto *whereItHolds = node.graph("then_branch"),
                   *elsewhere = node.graph("else_branch"),
                   *taken = holds ? whereItHolds : elsewhere;
  if (!taken || taken->output_size() < node.outputCount())
    return node.error("lacks a branch that gives its outputs");
  importer.forget(*taken);
  GRADUS_RETURN_IF_ERROR(addSubgraph(importer, node, *taken));
  for (int output = 0; output < node.outputCount(); ++output) {
    GRADUS_ASSIGN_OR_RETURN(
        Entry result, importer.meaning(node, taken->output(output).name()));
    importer.setMeaning(node.output(output), result);
  }
  return absl::OkStatus();
}

//===-- Loop --------------------------------------------------------------===//

Entry scalar(Type type, int64_t value) {
  Constant number = zeros(type, {});
  number.tensor.integers[0] = value;
  Entry entry;
  entry.constant = std::make_shared<Constant>(std::move(number));
  return entry;
}

/// Stacks constants along a new first axis.
Constant stackedConstants(ArrayRef<Entry> parts) {
  SmallVector<int64_t> shape = parts[0].constant->tensor.shape;
  shape.insert(shape.begin(), parts.size());
  Constant whole = zeros(parts[0].constant->element, shape);
  auto floats = whole.tensor.floats.begin();
  auto integers = whole.tensor.integers.begin();
  for (const Entry &part : parts) {
    const HostTensor &tensor = part.constant->tensor;
    floats = llvm::copy(tensor.floats, floats);
    integers = llvm::copy(tensor.integers, integers);
  }
  return whole;
}

/// Imports one iteration of the body after the other.
class Unrolling {
public:
  Unrolling(Importer &importer, const Node &node, const GraphProto &body)
      : b_(importer, node), importer_(importer), node_(node), body_(body),
        carriedCount_(body.input_size() - 2),
        scanned_(body.output_size() - 1 - carriedCount_) {}

  absl::Status run() {
    GRADUS_RETURN_IF_ERROR(begin());
    for (int64_t time = 0; goesOn_ && time < count_; ++time)
      GRADUS_RETURN_IF_ERROR(once(time));
    return defineOutputs();
  }

private:
  absl::Status begin() {
    if (!node_.input(0).empty()) {
      GRADUS_ASSIGN_OR_RETURN(Entry count, meaning(node_.input(0)));
      GRADUS_ASSIGN_OR_RETURN(count_, decided(node_, count, "count"));
    }
    if (!node_.input(1).empty()) {
      GRADUS_ASSIGN_OR_RETURN(Entry condition, meaning(node_.input(1)));
      GRADUS_ASSIGN_OR_RETURN(goesOn_, decided(node_, condition, "condition"));
    }
    for (int input = 0; input < carriedCount_; ++input) {
      GRADUS_ASSIGN_OR_RETURN(carried_.emplace_back(),
                              meaning(node_.input(2 + input)));
    }
    return absl::OkStatus();
  }

  absl::Status once(int64_t time) {
    importer_.forget(body_);
    importer_.setMeaning(body_.input(0).name(),
                         scalar(b_.builder.getI64Type(), time));
    importer_.setMeaning(body_.input(1).name(),
                         scalar(b_.builder.getI1Type(), 1));
    for (int i = 0; i < carriedCount_; ++i)
      importer_.setMeaning(body_.input(2 + i).name(), carried_[i]);
    GRADUS_RETURN_IF_ERROR(addSubgraph(importer_, node_, body_));
    GRADUS_ASSIGN_OR_RETURN(Entry condition, meaning(body_.output(0).name()));
    GRADUS_ASSIGN_OR_RETURN(goesOn_, decided(node_, condition, "condition"));
    for (int i = 0; i < carriedCount_; ++i) {
      GRADUS_ASSIGN_OR_RETURN(carried_[i], meaning(body_.output(1 + i).name()));
    }
    for (int i = 0; i < int(scanned_.size()); ++i) {
      GRADUS_ASSIGN_OR_RETURN(
          scanned_[i].emplace_back(),
          meaning(body_.output(1 + carriedCount_ + i).name()));
    }
    return absl::OkStatus();
  }

  absl::Status defineOutputs() {
    for (int i = 0; i < carriedCount_; ++i)
      importer_.setMeaning(node_.output(i), carried_[i]);
    for (int i = 0; i < int(scanned_.size()); ++i) {
      if (node_.output(carriedCount_ + i).empty())
        continue;
      GRADUS_ASSIGN_OR_RETURN(Entry whole, stacked(scanned_[i]));
      importer_.setMeaning(node_.output(carriedCount_ + i), whole);
    }
    return absl::OkStatus();
  }

  /// Stacks the results of the iterations along a new first axis.
  absl::StatusOr<Entry> stacked(ArrayRef<Entry> parts) {
    if (parts.empty())
      return node_.error("never runs, so that its output is empty, which is "
                         "not supported");
    if (llvm::all_of(parts, [](const Entry &e) { return e.constant; }) &&
        llvm::all_of(parts, [&](const Entry &e) {
          return e.constant->type() == parts[0].constant->type();
        })) {
      Entry whole;
      whole.constant = importer_.budget.keep(stackedConstants(parts));
      return whole;
    }
    SmallVector<Value> values;
    for (const Entry &part : parts) {
      if (!part.value && !part.constant)
        return node_.error("gives sequences, which is not supported");
      values.push_back(rowOf(part));
      if (values.back().getType() != values[0].getType())
        return node_.error("gives tensors of different shapes");
    }
    SmallVector<int64_t> shape(tensorType(values[0]).getShape());
    shape[0] = values.size();
    Entry whole;
    whole.value = b_.make<ConcatenateOp>(tensorType(values[0]).clone(shape),
                                         values, /*axis=*/0);
    return whole;
  }

  Value rowOf(const Entry &part) {
    Value value = part.value
                      ? part.value
                      : arith::ConstantOp::create(b_.builder, b_.loc,
                                                  toAttribute(*part.constant));
    SmallVector<int64_t> shape(tensorType(value).getShape());
    shape.insert(shape.begin(), 1);
    return b_.shaped(value, shape);
  }

  absl::StatusOr<Entry> meaning(llvm::StringRef name) {
    return importer_.meaning(node_, name);
  }

  Building b_;
  Importer &importer_;
  const Node &node_;
  const GraphProto &body_;
  int64_t count_ = std::numeric_limits<int64_t>::max();
  int64_t goesOn_ = true;
  int carriedCount_;
  std::vector<Entry> carried_;
  std::vector<std::vector<Entry>> scanned_;
};

absl::Status loop(Importer &importer, const Node &node) {
  const GraphProto *body = node.graph("body");
  if (!body || body->input_size() < 2 ||
      body->input_size() != std::max(2, node.inputCount()) ||
      body->output_size() < body->input_size() - 1 ||
      body->output_size() - 1 < node.outputCount())
    return node.error("has a body whose inputs and outputs do not fit it");
  return Unrolling(importer, node, *body).run();
}

const Operator kOperators[] = {
    {"If", {6, "", "a computed condition"}, branch, nullptr, false},
    {"Loop",
     {6, "v_initial",
      "a computed trip count or condition; sequences as scan outputs; scan "
      "outputs of no iteration"},
     loop,
     nullptr,
     false},
};

} // namespace

llvm::ArrayRef<Operator> controlFlowOperators() { return kOperators; }

} // namespace gradus::onnx
