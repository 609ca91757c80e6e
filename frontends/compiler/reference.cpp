// Outputs of a step that nobody trains with, and their values in f64.

#include "frontends/compiler/reference.h"

#include "codegen/initial_values.h"
#include "frontends/compiler/diagnostics.h"
#include "frontends/message.h"
#include "ir/evaluator.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include <cstring>

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
    if (train.getOutputName(i) == "loss")
      return value;
  return {};
}

void addNodeOutputs(GraphOp train) {
  llvm::MapVector<StringRef, Value> last; // In the order of these values.
  Value loss = lossOf(train);
  for (Operation &op : train.getBody().front().without_terminator()) {
    if (loss && &op == loss.getDefiningOp())
      break; // What follows is the way back.
    auto named = dyn_cast<NameLoc>(op.getLoc());
    if (!named || op.getNumResults() != 1 || isa<ReadOp>(op))
      continue;
    auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    if (!type || !type.getElementType().isF32())
      continue;
    last.erase(named.getName()); // Linear, in a graph to be looked into.
    last[named.getName()] = op.getResult(0);
  }
  llvm::StringSet<> taken;
  for (unsigned i = 0; i < train.getReturned().size(); ++i)
    taken.insert(train.getOutputName(i));
  for (auto [name, value] : last)
    if (taken.insert(name).second)
      train.addOutput(("node." + name).str(), value);
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

/// By the rule of a state, as codegen makes it.
DenseElementsAttr initialValue(StateOp state) {
  std::vector<char> bytes = initialBytes(state, /*seed=*/0);
  return DenseElementsAttr::getFromRawBuffer(
      cast<RankedTensorType>(state.getType()), bytes);
}

absl::StatusOr<StateMap> statesOf(ProgramOp program) {
  StateMap states;
  for (StateOp state : program.getOps<StateOp>()) {
    ElementsAttr value = state.getValueAttr();
    if (std::optional<double> fill = uniformValue(state); !value && fill) {
      HostTensor tensor = zeros(cast<RankedTensorType>(state.getType()));
      tensor.floats.assign(tensor.floats.size(), *fill);
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

void toSingle(HostTensor &tensor) {
  for (double &value : tensor.floats)
    value = static_cast<float>(value);
}

} // namespace

absl::StatusOr<std::vector<Reference>>
evaluateStep(ProgramOp program, GraphOp train,
             const std::vector<Weight> &inputs, bool rounded) {
  GRADUS_ASSIGN_OR_RETURN(std::vector<HostTensor> tensors,
                          inputsOf(train, inputs));
  GRADUS_ASSIGN_OR_RETURN(StateMap states, statesOf(program));
  StateMap gradients;
  llvm::function_ref<void(HostTensor &)> settle;
  if (rounded)
    settle = toSingle;
  auto outputs = evaluateGraph(train, tensors, states, &gradients, settle);
  if (failed(outputs))
    return invalid("the reference evaluator cannot run the step");
  std::vector<Reference> references;
  for (auto [i, output] : llvm::enumerate(*outputs)) {
    Reference reference{train.getOutputName(i).str(), {}};
    if (output.isFloat)
      reference.values.assign(output.floats.begin(), output.floats.end());
    else
      reference.values.assign(output.integers.begin(), output.integers.end());
    references.push_back(std::move(reference));
  }
  return references;
}

} // namespace gradus::compiler
