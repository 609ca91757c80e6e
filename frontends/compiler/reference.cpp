// Adds outputs to a step for comparison, and measures their distance from the
// evaluator's results on the compiled values before them.

#include "frontends/compiler/reference.h"

#include "codegen/artifact/initial_values.h"
#include "frontends/compiler/diagnostics.h"
#include "ir/evaluator/roundings.h"
#include "messages/message.h"
#include "passes/numbers.h"
#include "runtime/well_known.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <cstring>
#include <optional>

using namespace mlir;

namespace gradus::compiler {

//===-- outputs -----------------------------------------------------------===//

void addGradientOutputs(GraphOp train) {
  for (UpdateOp update : llvm::to_vector(train.getOps<UpdateOp>()))
    train.addOutput(("gradient." + update.getParameter()).str(),
                    update.getGradient());
}

static Value lossOf(GraphOp train) {
  for (auto [i, value] : llvm::enumerate(train.getReturned()))
    if (train.getOutputName(i) == well_known::kLoss)
      return value;
  return {};
}

/// Whether a value can be an output, as it is or widened.
static bool isShown(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType()) &&
         type.getElementTypeBitWidth() <= 64;
}

static bool isCompared(Type element) {
  return element.isF32() || element.isF64();
}

/// Widens a value to f32 if it is narrower: outputs are f32 or f64.
static Value widened(GraphOp train, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (isCompared(type.getElementType()))
    return value;
  OpBuilder builder(train.getBody().front().getTerminator());
  return arith::ExtFOp::create(builder, value.getLoc(),
                               type.clone(builder.getF32Type()), value);
}

void addNodeOutputs(GraphOp train) {
  llvm::MapVector<StringRef, Value> last; // in the order of the values
  Value loss = lossOf(train);
  for (Operation &op : train.getBody().front().without_terminator()) {
    if (loss && &op == loss.getDefiningOp())
      break; // The backward pass follows.
    auto named = dyn_cast<NameLoc>(op.getLoc());
    if (!named || op.getNumResults() == 0 || isa<ReadOp>(op) ||
        !isShown(op.getResult(0)))
      continue;
    last.erase(
        named.getName()); // Linear time is enough for a graph to look into.
    last[named.getName()] = op.getResult(0);
  }
  llvm::StringSet<> taken;
  for (unsigned i = 0; i < train.getReturned().size(); ++i)
    taken.insert(train.getOutputName(i));
  for (auto [name, value] : last)
    if (taken.insert(name).second)
      train.addOutput(("node." + name).str(), widened(train, value));
}

//===-- values ------------------------------------------------------------===//

namespace {

template <typename T>
void unpack(std::span<const uint8_t> bytes, HostTensor &tensor) {
  for (int64_t i = 0; i < tensor.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    if (tensor.isFloat)
      tensor.floats[i] = static_cast<double>(element);
    else
      tensor.integers[i] = static_cast<int64_t>(element);
  }
}

absl::StatusOr<HostTensor> hostTensor(const Weight &input) {
  HostTensor tensor = zeros(input.shape, input.dtype[0] == 'f');
  if (input.dtype == "f32")
    unpack<float>(input.bytes, tensor);
  else if (input.dtype == "f64")
    unpack<double>(input.bytes, tensor);
  else if (input.dtype == "i64")
    unpack<int64_t>(input.bytes, tensor);
  else if (input.dtype == "i32")
    unpack<int32_t>(input.bytes, tensor);
  else if (input.dtype == "bool")
    unpack<bool>(input.bytes, tensor);
  else
    return invalid("input \"", input.name, "\" is of ", input.dtype,
                   ", which the reference evaluator does not read");
  return tensor;
}

absl::StatusOr<std::vector<HostTensor>>
inputsOf(GraphOp train, const std::vector<Weight> &inputs) {
  std::vector<HostTensor> tensors;
  for (unsigned i = 0; i < train.getArgumentTypes().size(); ++i)
    for (const Weight &input : inputs)
      if (input.name == train.getInputName(i)) {
        GRADUS_ASSIGN_OR_RETURN(HostTensor tensor, hostTensor(input));
        tensors.push_back(std::move(tensor));
      }
  if (tensors.size() != train.getArgumentTypes().size())
    return invalid("a step has ", train.getArgumentTypes().size(),
                   " inputs, but ", tensors.size(), " are given");
  return tensors;
}

/// Computes initial values by the state's initializer, as codegen does.
DenseElementsAttr initialValue(StateOp state) {
  std::vector<char> bytes = initialBytes(state, /*seed=*/0);
  return DenseElementsAttr::getFromRawBuffer(
      cast<RankedTensorType>(state.getType()), bytes);
}

/// The value of a state that is uniform: that of an assumed run for numbers
/// which training sets.
std::optional<double> uniformOf(StateOp state) {
  auto range = state->getAttrOfType<DenseF64ArrayAttr>(kRange);
  std::optional<double> value = uniformValue(state);
  if (!value || !range || *value >= range[0])
    return value;
  return state.getSymName() == well_known::kUpdates
             ? well_known::kAssumedUpdates
             : well_known::kAssumedUpdatesPerEpoch;
}

absl::StatusOr<StateMap> statesOf(ProgramOp program) {
  StateMap states;
  for (StateOp state : program.getOps<StateOp>()) {
    ElementsAttr value = state.getValueAttr();
    if (std::optional<double> fill = uniformOf(state); !value && fill) {
      HostTensor tensor = zeros(cast<RankedTensorType>(state.getType()));
      tensor.floats.assign(tensor.floats.size(), *fill);
      tensor.integers.assign(tensor.integers.size(), int64_t(*fill));
      states[state.getSymName()] = tensor;
      continue;
    }
    FailureOr<HostTensor> tensor =
        toHost(value ? value : ElementsAttr(initialValue(state)));
    if (failed(tensor))
      return invalid("state \"", state.getSymName().str(),
                     "\" has no values at hand");
    states[state.getSymName()] = *std::move(tensor);
  }
  return states;
}

//===-- comparison --------------------------------------------------------===//

/// The value behind an output that only widens it.
Value shownBy(Value output) {
  auto widening = output.getDefiningOp<arith::ExtFOp>();
  return widening ? widening.getIn() : output;
}

/// Replaces the evaluator's values by compiled ones, so that each op is
/// compared by itself, without the errors of ops before it.
class CutRun : public Settling {
public:
  CutRun(GraphOp train, const std::vector<OutputValues> &compiled) {
    for (auto [i, output] : llvm::enumerate(train.getReturned()))
      for (const OutputValues &each : compiled)
        if (each.output == train.getOutputName(i))
          cuts_.try_emplace(shownBy(output), each.values);
  }

  void moveBy(uint64_t draw) { roundings_.emplace(draw); }

  void operands(Operation &op, MutableArrayRef<HostTensor> tensors) override {
    if (roundings_)
      roundings_->operands(op, tensors);
  }

  void made(Value value, HostTensor &tensor) override {
    settleTo(getElementTypeOrSelf(value), tensor);
    if (roundings_)
      roundings_->made(value, tensor);
    auto cut = cuts_.find(value);
    if (cut == cuts_.end() || cut->second.size() != tensor.floats.size())
      return;
    made_[value] = tensor.floats;
    tensor.floats.assign(cut->second.begin(), cut->second.end());
  }

  /// Returns the outputs, each evaluated from compiled values.
  absl::StatusOr<std::vector<std::vector<double>>>
  run(GraphOp train, const std::vector<HostTensor> &inputs, StateMap states) {
    StateMap gradients;
    auto outputs = evaluateSettling(train, inputs, states, &gradients, *this);
    if (failed(outputs))
      return invalid("the reference evaluator cannot run the step");
    std::vector<std::vector<double>> values;
    for (auto [value, output] : llvm::zip(train.getReturned(), *outputs)) {
      auto found = made_.find(shownBy(value));
      values.push_back(found == made_.end() ? std::move(output.floats)
                                            : found->second);
    }
    return values;
  }

private:
  DenseMap<Value, std::span<const double>> cuts_;
  DenseMap<Value, std::vector<double>> made_;
  std::optional<Roundings> roundings_;
};

/// Returns the largest difference of two elements.
template <typename Numbers>
double distanceOf(const Numbers &found, const std::vector<double> &expected) {
  double largest = 0;
  if (found.size() != expected.size())
    return INFINITY;
  for (size_t i = 0; i < expected.size(); ++i) {
    double distance = std::abs(found[i] - expected[i]);
    bool same = found[i] == expected[i] ||
                (std::isnan(found[i]) && std::isnan(expected[i]));
    if (!same)
      largest = std::isnan(distance) ? INFINITY : std::max(largest, distance);
  }
  return largest;
}

/// Returns the largest magnitude of the finite values.
double largestOf(const std::vector<double> &values) {
  double largest = 0;
  for (double value : values)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  return largest;
}

const OutputValues *find(const std::vector<OutputValues> &all, StringRef name) {
  for (const OutputValues &each : all)
    if (each.output == name)
      return &each;
  return nullptr;
}

/// An output that both the graph (by its number) and the compiled step have.
struct Shared {
  unsigned number;
  const OutputValues *compiled;
};

std::vector<Shared> sharedOutputs(GraphOp train,
                                  const std::vector<OutputValues> &compiled) {
  std::vector<Shared> shared;
  for (unsigned i = 0; i < train.getReturned().size(); ++i)
    if (const OutputValues *found = find(compiled, train.getOutputName(i)))
      if (Type type = getElementTypeOrSelf(train.getReturned()[i]);
          isCompared(type) && found->dtype == (type.isF32() ? "f32" : "f64"))
        shared.push_back({i, found});
  return shared;
}

} // namespace

absl::StatusOr<std::vector<Comparison>>
compareStep(ProgramOp program, GraphOp train, const std::vector<Weight> &inputs,
            const std::vector<OutputValues> &compiled, bool explains) {
  constexpr int kDraws = 2;
  GRADUS_ASSIGN_OR_RETURN(std::vector<HostTensor> tensors,
                          inputsOf(train, inputs));
  GRADUS_ASSIGN_OR_RETURN(StateMap states, statesOf(program));
  CutRun run(train, compiled);
  GRADUS_ASSIGN_OR_RETURN(auto exact, run.run(train, tensors, states));
  std::vector<Shared> shared = sharedOutputs(train, compiled);
  std::vector<Comparison> comparisons;
  bool isFar = false;
  for (auto [number, found] : shared) {
    Type type = getElementTypeOrSelf(shownBy(train.getReturned()[number]));
    Comparison &each = comparisons.emplace_back(Comparison{
        found->output, distanceOf(found->values, exact[number]),
        largestOf(exact[number]), roundingUnit(type), /*roundings=*/0});
    isFar |= !(each.deviation <= each.usual());
  }
  for (int draw = 1; explains && isFar && draw <= kDraws; ++draw) {
    run.moveBy(draw);
    GRADUS_ASSIGN_OR_RETURN(auto moved, run.run(train, tensors, states));
    for (auto [each, output] : llvm::zip(comparisons, shared))
      if (double carried =
              distanceOf(moved[output.number], exact[output.number]);
          std::isfinite(carried))
        each.roundings = std::max(each.roundings, carried);
  }
  return comparisons;
}

} // namespace gradus::compiler
