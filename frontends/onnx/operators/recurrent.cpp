// ONNX's recurrent layers: one matmul for the inputs of all steps, then a scan,
// whose body has a matmul and a few elementwise ops.
//
// Gates are adjacent columns of a matmul's result, in ONNX's order: i o f c for
// LSTM, z r h for GRU.

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/operators.h"
#include "ir/scan_ops.h"

#include "llvm/ADT/StringSwitch.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

/// A layer's inputs in one direction, time first.
struct Direction {
  Value inputs;                   // [T, B, I]
  Value weight, recurrent;        // [G H, I], [G H, H]
  Value inputBias, recurrentBias; // [G H], or null
  Value peepholes;                // [3 H], or null
  Value hidden, cell;             // [B, H]
  Value lengths;                  // [B] of i64, or null
  int64_t steps, batch, width;
  bool isReverse;
  SmallVector<std::string> activations;
};

/// The values that each step of a direction reads, outside of the scan or in
/// its body; null if the layer has none.
struct Given {
  Value recurrent;        // of GRU: of z and r alone
  Value fresh, freshBias; // those of n, of GRU
  Value holes[3];         // peepholes of i, o and f
  Value lengths;

  SmallVector<Value *> all() {
    return {&recurrent, &fresh,    &freshBias, &holes[0],
            &holes[1],  &holes[2], &lengths};
  }
};

/// The state of a layer after a step.
struct State {
  Value hidden, cell;
};

//===-- parts -------------------------------------------------------------===//

/// Element `at` of the first dimension, which is removed.
Value element(const Building &b, Value value, int64_t at) {
  Value one = b.cutAlong(value, 0, at, 1);
  return b.shaped(one, tensorType(value).getShape().drop_front());
}

/// Gate `number` of values that have all gates in their last dimension.
Value gate(const Building &b, Value gates, int64_t number, int64_t width) {
  return b.cutAlong(gates, tensorType(gates).getRank() - 1, number * width,
                    width);
}

/// Adds a row to each row.
Value addRow(const Building &b, Value value, Value row) {
  return row ? b.add(value, broadcastLast(b.builder, b.loc, row,
                                          tensorType(value).getShape()))
             : value;
}

Value times(const Building &b, Value value, Value weight) {
  return matmul(b.builder, b.loc, value, weight, false, true);
}

/// Applies the activation to x after clipping it by `clip`.
Value activated(const Building &b, StringRef name, Value x) {
  if (double clip = b.node.number("clip", 0); clip > 0) {
    x = b.smaller(x, b.number(clip, x));
    x = b.larger(x, b.number(-clip, x));
  }
  if (name == "sigmoid")
    return b.make<SigmoidOp>(x);
  return name == "relu" ? b.make<ReluOp>(x) : b.make<math::TanhOp>(x);
}

/// The matmul of all steps' inputs with the weight.
Value projected(const Building &b, const Direction &d, Value bias) {
  int64_t width = tensorType(d.weight).getDimSize(0);
  Value rows = b.shaped(
      d.inputs, {d.steps * d.batch, tensorType(d.inputs).getDimSize(2)});
  Value product = addRow(b, times(b, rows, d.weight), bias);
  return b.shaped(product, {d.steps, d.batch, width});
}

Value bothBiases(const Building &b, const Direction &d) {
  return d.inputBias ? b.add(d.inputBias, d.recurrentBias) : Value();
}

//===-- cells -------------------------------------------------------------===//

/// c = f c + i g; h = o activation(c)
State lstmCell(const Building &b, const Direction &d, const Given &given,
               Value projection, State before) {
  Value gates = b.add(projection, times(b, before.hidden, given.recurrent));
  auto peeped = [&](int64_t number, int64_t hole, Value cell) {
    Value x = gate(b, gates, number, d.width);
    if (!given.holes[hole])
      return x;
    Value scale = broadcastLast(b.builder, b.loc, given.holes[hole],
                                tensorType(x).getShape());
    return b.add(x, b.multiply(scale, cell));
  };
  auto act = [&](int i, Value x) { return activated(b, d.activations[i], x); };
  Value input = act(0, peeped(0, 0, before.cell));
  Value forget = b.node.integer("input_forget", 0)
                     ? b.subtract(b.number(1, input), input)
                     : act(0, peeped(2, 2, before.cell));
  Value fresh = act(1, gate(b, gates, 3, d.width));
  Value cell = b.add(b.multiply(forget, before.cell), b.multiply(input, fresh));
  Value output = act(0, peeped(1, 1, cell));
  return {b.multiply(output, act(2, cell)), cell};
}

/// h = (1 - z) n + z h; r is applied to the state before or after its matmul.
State gruCell(const Building &b, const Direction &d, const Given &given,
              Value projection, State before) {
  bool productFirst = b.node.integer("linear_before_reset", 0);
  Value gates = b.add(b.cutAlong(projection, 1, 0, 2 * d.width),
                      times(b, before.hidden, given.recurrent));
  Value update = activated(b, d.activations[0], gate(b, gates, 0, d.width));
  Value reset = activated(b, d.activations[0], gate(b, gates, 1, d.width));
  Value read = productFirst ? before.hidden : b.multiply(reset, before.hidden);
  Value rest = addRow(b, times(b, read, given.fresh), given.freshBias);
  if (productFirst)
    rest = b.multiply(reset, rest);
  Value fresh = activated(b, d.activations[1],
                          b.add(gate(b, projection, 2, d.width), rest));
  Value kept = b.multiply(update, b.subtract(before.hidden, fresh));
  return {b.add(fresh, kept), {}};
}

/// The recurrent bias of GRU: that of n is added to the matmul, those of z and
/// r with the inputs' bias.
Value gruBias(const Building &b, const Direction &d) {
  if (!d.inputBias)
    return {};
  Value first = b.cutAlong(d.recurrentBias, 0, 0, 2 * d.width);
  SmallVector<int64_t> low = {0}, high = {d.width}, none = {0};
  Value padded = b.make<PadOp>(d.recurrentBias.getType(), first, low, high,
                               none, APFloat(0.0));
  return b.add(d.inputBias, padded);
}

State rnnCell(const Building &b, const Direction &d, const Given &given,
              Value projection, State before) {
  Value sum = b.add(projection, times(b, before.hidden, given.recurrent));
  return {activated(b, d.activations[0], sum), {}};
}

/// A kind of layer: its gates, states and step function.
struct Kind {
  int64_t gates;
  bool hasCell;
  SmallVector<StringRef> activations; // defaults, for one direction
  State (*cell)(const Building &, const Direction &, const Given &, Value,
                State);
  Value (*bias)(const Building &, const Direction &);
};

/// Returns what all steps read. The matmul of GRU's n is apart from that of z
/// and r.
Given given(const Building &b, const Kind &kind, const Direction &d) {
  Given given;
  given.recurrent = d.recurrent;
  given.lengths = d.lengths;
  if (d.peepholes)
    for (int64_t hole = 0; hole < 3; ++hole)
      given.holes[hole] = gate(b, d.peepholes, hole, d.width);
  if (kind.gates == 3) {
    given.recurrent = b.cutAlong(d.recurrent, 0, 0, 2 * d.width);
    given.fresh = b.cutAlong(d.recurrent, 0, 2 * d.width, d.width);
    if (d.recurrentBias)
      given.freshBias = gate(b, d.recurrentBias, 2, d.width);
  }
  return given;
}

//===-- steps -------------------------------------------------------------===//

/// Keeps the state of a row after the end of its sequence; `number` is that of
/// the step.
State held(const Building &b, const Direction &d, Value lengths, Value number,
           State after, State before, Value &output) {
  Value at = broadcastScalar(b.builder, b.loc, number, d.batch);
  Value runs = b.compare(arith::CmpIPredicate::slt, at, lengths);
  Value all = broadcast(b.builder, b.loc, runs, {d.batch, d.width}, {0});
  output = b.select(all, output, b.number(0, output));
  after.hidden = b.select(all, after.hidden, before.hidden);
  if (after.cell)
    after.cell = b.select(all, after.cell, before.cell);
  return after;
}

/// The operands of a direction's scan.
struct Operands {
  SmallVector<Value> carried, sequences, invariants;
};

/// Builds the body of a scan: a step of the layer.
void buildStep(const Building &b, const Kind &kind, const Direction &d,
               Given given, const Operands &operands, Region &body) {
  OpBuilder::InsertionGuard guard(b.builder);
  Block *block = b.builder.createBlock(&body);
  auto argument = [&](Type type) { return block->addArgument(type, b.loc); };
  State before;
  before.hidden = argument(operands.carried[0].getType());
  if (kind.hasCell)
    before.cell = argument(operands.carried[1].getType());
  SmallVector<Value> slices;
  for (Value sequence : operands.sequences) {
    RankedTensorType type = tensorType(sequence);
    slices.push_back(argument(type.clone(type.getShape().drop_front())));
  }
  for (Value *value : given.all())
    if (*value)
      *value = argument(value->getType());
  State after = kind.cell(b, d, given, slices[0], before);
  Value output = after.hidden;
  if (given.lengths)
    after = held(b, d, given.lengths, slices[1], after, before, output);
  SmallVector<Value> yielded = {after.hidden};
  if (kind.hasCell)
    yielded.push_back(after.cell);
  yielded.push_back(output);
  YieldOp::create(b.builder, b.loc, yielded);
}

struct Run {
  Value outputs; // [T, 1, B, H]
  State last;
};

Run runDirection(const Building &b, const Kind &kind, const Direction &d) {
  Given read = given(b, kind, d);
  Operands operands{{d.hidden}, {projected(b, d, kind.bias(b, d))}, {}};
  if (kind.hasCell)
    operands.carried.push_back(d.cell);
  if (read.lengths)
    operands.sequences.push_back(b.indicesAlong(d.steps, 0));
  for (Value *value : read.all())
    if (*value)
      operands.invariants.push_back(*value);
  SmallVector<Type> types(ValueRange(operands.carried).getTypes());
  types.push_back(
      tensorType(d.hidden).clone(ArrayRef<int64_t>{d.steps, d.batch, d.width}));
  auto scan =
      ScanOp::create(b.builder, b.loc, types, d.steps, d.isReverse,
                     operands.carried, operands.sequences, operands.invariants);
  buildStep(b, kind, d, read, operands, scan.getBody());
  Run run;
  run.outputs =
      b.shaped(scan.getResults().back(), {d.steps, 1, d.batch, d.width});
  run.last.hidden = scan.getResult(0);
  if (kind.hasCell)
    run.last.cell = scan.getResult(1);
  return run;
}

//===-- the node ----------------------------------------------------------===//

/// The lower-case names of one direction's activations.
absl::StatusOr<SmallVector<std::string>> activationsOf(const Node &node,
                                                       const Kind &kind,
                                                       int64_t direction,
                                                       int64_t directions) {
  SmallVector<std::string> names = node.texts("activations"), own;
  size_t count = kind.activations.size();
  if (names.empty())
    for (int64_t i = 0; i < directions; ++i)
      for (StringRef name : kind.activations)
        names.push_back(name.str());
  // ONNX's default for RNN lists both directions, whichever the node has.
  if (node.type() == "RNN" && names == SmallVector<std::string>{"Tanh", "Tanh"})
    names.resize(count * directions);
  if (names.size() != count * directions)
    return node.error("has ", names.size(), " activations, expected ",
                      count * directions);
  for (size_t i = 0; i < count; ++i)
    own.push_back(StringRef(names[direction * count + i]).lower());
  return own;
}

absl::Status judgeDirection(const Node &node) {
  std::string direction = node.text("direction", "forward");
  if (llvm::is_contained({"forward", "reverse", "bidirectional"}, direction))
    return absl::OkStatus();
  return node.error("its attribute \"direction\" is \"", direction,
                    "\", expected forward, reverse or bidirectional");
}

absl::Status judgeNumbers(const Node &node) {
  if (int64_t width = node.integer("hidden_size", 1);
      width < 1 || width > INT32_MAX)
    return node.error("has hidden_size ", width, ", expected 1 to ", INT32_MAX);
  for (const char *flag : {"layout", "input_forget", "linear_before_reset"})
    if (int64_t found = node.integer(flag, 0); found != 0 && found != 1)
      return node.error("its attribute \"", flag, "\" is ", found,
                        ", expected 0 or 1");
  if (double clip = node.number("clip", 0); !(clip >= 0))
    return node.error("its attribute \"clip\" is ", clip,
                      ", expected at least 0");
  return absl::OkStatus();
}

absl::Status judgeLayer(const Node &node) {
  GRADUS_RETURN_IF_ERROR(judgeDirection(node));
  GRADUS_RETURN_IF_ERROR(judgeNumbers(node));
  for (const std::string &name : node.texts("activations"))
    if (std::string own = StringRef(name).lower();
        own != "sigmoid" && own != "tanh" && own != "relu")
      return node.error("activation \"", name,
                        "\" is not supported; Sigmoid, Tanh and Relu are");
  return absl::OkStatus();
}

/// Whether recurrent weights are those of an LSTM whose output is shorter than
/// its state.
bool isProjected(const Building &b, int input, ArrayRef<int64_t> shape) {
  return b.node.type() == "LSTM" && input == 2 && shape.size() == 3 &&
         shape.back() < b.node.integer("hidden_size", 0);
}

/// One direction's part of input `input`, which has a part for each.
absl::StatusOr<Value> ofDirection(const Building &b, int input, int64_t number,
                                  ArrayRef<int64_t> shape, int64_t directions) {
  GRADUS_ASSIGN_OR_RETURN(Value value, b.importer.value(b.node, input));
  SmallVector<int64_t> expected = {directions};
  expected.append(shape.begin(), shape.end());
  ArrayRef<int64_t> found = tensorType(value).getShape();
  if (found != ArrayRef<int64_t>(expected))
    return b.node.error(
        "its input \"", b.node.input(input).str(), "\" has shape [",
        joined(found), "], expected [", joined(expected), "]",
        isProjected(b, input, found)
            ? ", as ONNX's LSTM has no projections (proj_size); export an LSTM "
              "without, and a Linear behind it"
            : "");
  return element(b, value, number);
}

/// An initial state; zeros if it is left out.
absl::StatusOr<Value> initial(const Building &b, int input, int64_t number,
                              const Direction &d, int64_t directions,
                              bool batchFirst) {
  RankedTensorType type =
      tensorType(d.inputs).clone(ArrayRef<int64_t>{d.batch, d.width});
  if (b.node.input(input).empty())
    return splat(b.builder, b.loc, type, 0);
  if (!batchFirst)
    return ofDirection(b, input, number, {d.batch, d.width}, directions);
  GRADUS_ASSIGN_OR_RETURN(Value value, b.importer.value(b.node, input, 3));
  SmallVector<int64_t> expected = {d.batch, directions, d.width};
  if (tensorType(value).getShape() != ArrayRef<int64_t>(expected))
    return b.node.error("its input \"", b.node.input(input).str(),
                        "\" has shape [", joined(tensorType(value).getShape()),
                        "], expected [", joined(expected), "]");
  return element(b, b.permuted(value, {1, 0, 2}), number);
}

absl::Status readBiases(const Building &b, const Kind &kind, int64_t number,
                        int64_t directions, Direction &d) {
  int64_t width = kind.gates * d.width;
  if (!b.node.input(3).empty()) {
    GRADUS_ASSIGN_OR_RETURN(Value both,
                            ofDirection(b, 3, number, {2 * width}, directions));
    d.inputBias = b.cutAlong(both, 0, 0, width);
    d.recurrentBias = b.cutAlong(both, 0, width, width);
  }
  if (kind.hasCell && !b.node.input(7).empty()) {
    GRADUS_ASSIGN_OR_RETURN(
        d.peepholes, ofDirection(b, 7, number, {3 * d.width}, directions));
  }
  return absl::OkStatus();
}

/// Refuses known lengths that are not those of a sequence.
absl::Status judgeLengths(const Node &node, ArrayRef<int64_t> lengths,
                          int64_t steps) {
  for (auto [i, length] : llvm::enumerate(lengths))
    if (length < 0 || length > steps)
      return node.error("its input \"", node.input(4).str(), "\" has length ",
                        length, " for sequence ", i, ", expected 0 to ", steps,
                        ", the number of steps");
  return absl::OkStatus();
}

/// Sequence lengths; null if all are known to be complete.
absl::StatusOr<Value> lengthsOf(const Building &b, int64_t steps,
                                int64_t batch) {
  if (b.node.input(4).empty())
    return Value();
  GRADUS_ASSIGN_OR_RETURN(Value lengths, b.importer.value(b.node, 4, 1));
  if (int64_t found = tensorType(lengths).getDimSize(0); found != batch)
    return b.node.error("its input \"", b.node.input(4).str(), "\" has shape [",
                        found, "], expected [", batch, "], the batch");
  if (const Constant *known = b.importer.constant(b.node, 4)) {
    ArrayRef<int64_t> all = known->tensor.integers;
    GRADUS_RETURN_IF_ERROR(judgeLengths(b.node, all, steps));
    if (llvm::all_of(all, [&](int64_t length) { return length == steps; }))
      return Value();
  }
  return castTo(b, lengths, b.builder.getI64Type());
}

absl::StatusOr<Direction> direction(const Building &b, const Kind &kind,
                                    Value inputs, int64_t number,
                                    int64_t directions) {
  Direction d;
  d.inputs = inputs;
  d.steps = tensorType(inputs).getDimSize(0);
  d.batch = tensorType(inputs).getDimSize(1);
  d.width = b.node.integer("hidden_size", 0);
  if (d.steps > kMostStepsWrittenOut) // as they are for GPUs
    return b.node.error("has ", d.steps, " steps; at most ",
                        kMostStepsWrittenOut, " are supported");
  int64_t features = tensorType(inputs).getDimSize(2);
  bool batchFirst = b.node.integer("layout", 0);
  d.isReverse = number == 1 || b.node.text("direction", "forward") == "reverse";
  GRADUS_ASSIGN_OR_RETURN(
      d.weight,
      ofDirection(b, 1, number, {kind.gates * d.width, features}, directions));
  GRADUS_ASSIGN_OR_RETURN(
      d.recurrent,
      ofDirection(b, 2, number, {kind.gates * d.width, d.width}, directions));
  GRADUS_RETURN_IF_ERROR(readBiases(b, kind, number, directions, d));
  GRADUS_ASSIGN_OR_RETURN(d.lengths, lengthsOf(b, d.steps, d.batch));
  GRADUS_ASSIGN_OR_RETURN(d.hidden,
                          initial(b, 5, number, d, directions, batchFirst));
  if (kind.hasCell) {
    GRADUS_ASSIGN_OR_RETURN(d.cell,
                            initial(b, 6, number, d, directions, batchFirst));
  }
  GRADUS_ASSIGN_OR_RETURN(d.activations,
                          activationsOf(b.node, kind, number, directions));
  return d;
}

/// Defines an output with the states [D, B, H] (or batch first) of all
/// directions.
absl::Status defineState(const Building &b, int output,
                         ArrayRef<Value> states) {
  SmallVector<Value> parts;
  RankedTensorType one = tensorType(states[0]);
  for (Value state : states)
    parts.push_back(b.shaped(state, {1, one.getDimSize(0), one.getDimSize(1)}));
  Type type = one.clone(ArrayRef<int64_t>{
      int64_t(states.size()), one.getDimSize(0), one.getDimSize(1)});
  Value all = b.make<ConcatenateOp>(type, parts, 0);
  if (b.node.integer("layout", 0))
    all = b.permuted(all, {1, 0, 2});
  return b.importer.define(b.node, output, all);
}

absl::Status defineOutputs(const Building &b, const Kind &kind,
                           ArrayRef<Run> runs) {
  SmallVector<Value> outputs, hidden, cells;
  for (const Run &run : runs) {
    outputs.push_back(run.outputs);
    hidden.push_back(run.last.hidden);
    cells.push_back(run.last.cell);
  }
  SmallVector<int64_t> shape(tensorType(outputs[0]).getShape());
  shape[1] = runs.size();
  Value all =
      b.make<ConcatenateOp>(tensorType(outputs[0]).clone(shape), outputs, 1);
  if (b.node.integer("layout", 0))
    all = b.permuted(all, {2, 0, 1, 3});
  GRADUS_RETURN_IF_ERROR(b.importer.define(b.node, 0, all));
  GRADUS_RETURN_IF_ERROR(defineState(b, 1, hidden));
  return kind.hasCell ? defineState(b, 2, cells) : absl::OkStatus();
}

absl::Status layer(Importer &importer, const Node &node, const Kind &kind) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value inputs, importer.value(node, 0, 3));
  if (node.integer("layout", 0))
    inputs = b.permuted(inputs, {1, 0, 2});
  if (!node.hasAttribute("hidden_size"))
    return node.error("has no hidden_size");
  int64_t directions =
      node.text("direction", "forward") == "bidirectional" ? 2 : 1;
  SmallVector<Run> runs;
  for (int64_t number = 0; number < directions; ++number) {
    GRADUS_ASSIGN_OR_RETURN(Direction d,
                            direction(b, kind, inputs, number, directions));
    runs.push_back(runDirection(b, kind, d));
  }
  return defineOutputs(b, kind, runs);
}

absl::Status lstm(Importer &importer, const Node &node) {
  return layer(importer, node,
               {4, true, {"Sigmoid", "Tanh", "Tanh"}, lstmCell, bothBiases});
}

absl::Status gru(Importer &importer, const Node &node) {
  return layer(importer, node,
               {3, false, {"Sigmoid", "Tanh"}, gruCell, gruBias});
}

absl::Status rnn(Importer &importer, const Node &node) {
  return layer(importer, node, {1, false, {"Tanh"}, rnnCell, bothBiases});
}

const std::string kRefused =
    message("activations but Sigmoid, Tanh and Relu; more than ",
            kMostStepsWrittenOut, " steps");

constexpr const char *kWhyNoFactor = "it is for activations that are refused";
constexpr Ignored kIgnored[] = {
    {"activation_alpha", kWhyNoFactor},
    {"activation_beta", kWhyNoFactor},
    {"output_sequence", "the node's outputs say it"}};

const Operator kOperators[] = {
    {"LSTM",
     {6, "X, W, R, B, initial_h, initial_c, P", kRefused.c_str(), judgeLayer,
      "", kIgnored},
     lstm},
    {"GRU",
     {6, "X, W, R, B, initial_h", kRefused.c_str(), judgeLayer, "", kIgnored},
     gru},
    {"RNN",
     {6, "X, W, R, B, initial_h", kRefused.c_str(), judgeLayer, "", kIgnored},
     rnn}};

} // namespace

llvm::ArrayRef<Operator> recurrentOperators() { return kOperators; }

} // namespace gradus::onnx
