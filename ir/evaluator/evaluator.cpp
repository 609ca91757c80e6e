// Runs ops and graphs on host tensors; see evaluator.h. The evaluate_*.cpp
// files compute each op, by family.

#include "ir/evaluator/settling.h"
#include "ir/scan_ops.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace gradus;

//===-- host tensors ------------------------------------------------------===//

HostTensor gradus::zeros(ArrayRef<int64_t> shape, bool isFloat) {
  HostTensor tensor;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.isFloat = isFloat;
  if (isFloat)
    tensor.floats.resize(tensor.size());
  else
    tensor.integers.resize(tensor.size());
  return tensor;
}

HostTensor gradus::zeros(RankedTensorType type) {
  return zeros(type.getShape(), isa<FloatType>(type.getElementType()));
}

/// Booleans are 0 and 1, other integers are signed.
static int64_t toInteger(const APInt &value) {
  return value.getBitWidth() == 1 ? value.getZExtValue() : value.getSExtValue();
}

/// Reads weights that are stored outside of the program text.
static DenseElementsAttr fromResource(DenseResourceElementsAttr resource) {
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  bool isSplat = false;
  if (!blob || !DenseElementsAttr::isValidRawBuffer(resource.getType(),
                                                    blob->getData(), isSplat))
    return {};
  return DenseElementsAttr::getFromRawBuffer(resource.getType(),
                                             blob->getData());
}

FailureOr<HostTensor> gradus::toHost(ElementsAttr elements) {
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements))
    dense = fromResource(resource);
  auto type = dyn_cast<RankedTensorType>(elements.getShapedType());
  if (!dense || !type || !type.getElementType().isIntOrFloat())
    return failure();
  HostTensor tensor = zeros(type);
  if (tensor.isFloat && dense.isSplat())
    llvm::fill(tensor.floats, dense.getSplatValue<APFloat>().convertToDouble());
  else if (tensor.isFloat)
    for (auto [to, from] : llvm::zip(tensor.floats, dense.getValues<APFloat>()))
      to = from.convertToDouble();
  else
    for (auto [to, from] : llvm::zip(tensor.integers, dense.getValues<APInt>()))
      to = toInteger(from);
  return tensor;
}

/// The values as elements of type T, byte by byte.
template <typename T, typename Values>
static DenseElementsAttr elementsOf(RankedTensorType type,
                                    const Values &values) {
  SmallVector<T> elements(values.begin(), values.end());
  return DenseElementsAttr::get(type, ArrayRef<T>(elements));
}

/// Builds elements of float types that C++ lacks, such as bf16.
static DenseElementsAttr roundedElements(RankedTensorType type,
                                         ArrayRef<double> values) {
  const auto &semantics =
      cast<FloatType>(type.getElementType()).getFloatSemantics();
  SmallVector<APFloat> elements;
  for (double value : values) {
    bool loses = false;
    elements.emplace_back(value);
    elements.back().convert(semantics, APFloat::rmNearestTiesToEven, &loses);
  }
  return DenseElementsAttr::get(type, elements);
}

DenseElementsAttr gradus::toElements(const HostTensor &tensor,
                                     RankedTensorType type) {
  Type element = type.getElementType();
  if (element.isF64())
    return elementsOf<double>(type, tensor.floats);
  if (element.isF32())
    return elementsOf<float>(type, tensor.floats);
  if (tensor.isFloat)
    return roundedElements(type, tensor.floats);
  switch (element.getIntOrFloatBitWidth()) {
  case 1:
    return elementsOf<bool>(type, tensor.integers);
  case 8:
    return elementsOf<int8_t>(type, tensor.integers);
  case 16:
    return elementsOf<int16_t>(type, tensor.integers);
  case 32:
    return elementsOf<int32_t>(type, tensor.integers);
  default:
    return elementsOf<int64_t>(type, tensor.integers);
  }
}

//===-- ops ---------------------------------------------------------------===//

/// Whether a tensor has the shape and kind of elements of a type.
static bool fits(const HostTensor &tensor, Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  ArrayRef<int64_t> shape;
  if (ranked)
    shape = ranked.getShape();
  return ArrayRef(tensor.shape) == shape &&
         tensor.isFloat == isa<FloatType>(getElementTypeOrSelf(type)) &&
         tensor.floats.size() + tensor.integers.size() == size_t(tensor.size());
}

FailureOr<SmallVector<HostTensor>>
gradus::evaluateOp(Operation *op, ArrayRef<HostTensor> operands) {
  auto evaluable = dyn_cast<Evaluable>(op);
  if (!evaluable)
    return op->emitOpError("cannot be evaluated: it has no reference");
  if (operands.size() != op->getNumOperands())
    return op->emitOpError("is evaluated on ")
           << operands.size() << " operands, expected " << op->getNumOperands();
  for (auto [index, operand, value] :
       llvm::enumerate(operands, op->getOperands()))
    if (!fits(operand, value.getType()))
      return op->emitOpError("is evaluated on an operand ")
             << index << " that does not fit " << value.getType();
  return evaluable.evaluate(operands);
}

FailureOr<SmallVector<HostTensor>>
gradus::evaluateSettling(Operation &op, SmallVector<HostTensor> operands,
                         Settling &settling) {
  if (auto scan = dyn_cast<ScanOp>(op))
    return evaluateSettling(scan, operands, settling);
  settling.operands(op, operands);
  return evaluateOp(&op, operands);
}

//===-- graphs ------------------------------------------------------------===//

namespace {
/// One run of a graph: the values so far and the states as they will be.
class GraphRun {
public:
  GraphRun(StateMap &states, StateMap *gradients, Settling &settling)
      : states_(states), gradients_(gradients), settling_(settling) {}

  LogicalResult begin(GraphOp graph, ArrayRef<HostTensor> inputs);
  LogicalResult run(Operation &op);
  SmallVector<HostTensor> operandsOf(Operation &op);
  SmallVector<HostTensor> valuesOf(ValueRange range) const;
  void showWrites();

private:
  LogicalResult read(ReadOp op);
  LogicalResult update(UpdateOp op);
  LogicalResult compute(Operation &op);
  void add(Value value, HostTensor tensor) {
    settling_.made(value, tensor);
    values_[value] = std::move(tensor);
  }

  StateMap &states_, written_;
  StateMap *gradients_;
  Settling &settling_;
  DenseMap<Value, HostTensor> values_;
  DenseMap<Value, int64_t> usesLeft_; // of values that an op was given
};
} // namespace

LogicalResult GraphRun::begin(GraphOp graph, ArrayRef<HostTensor> inputs) {
  if (inputs.size() != graph.getArgumentTypes().size())
    return graph.emitOpError("is evaluated on ")
           << inputs.size() << " inputs, expected "
           << graph.getArgumentTypes().size();
  for (auto [argument, input] :
       llvm::zip(graph.getBody().getArguments(), inputs)) {
    if (!fits(input, argument.getType()))
      return graph.emitOpError("is evaluated on an input \"")
             << graph.getInputName(argument.getArgNumber())
             << "\" that does not fit " << argument.getType();
    add(argument, input);
  }
  return success();
}

LogicalResult GraphRun::run(Operation &op) {
  if (auto readOp = dyn_cast<ReadOp>(op))
    return read(readOp);
  // A step of the evaluator makes all writes; factors say nothing of values.
  if (isa<GuardOp, FactorsOp>(op))
    return success();
  if (auto updateOp = dyn_cast<UpdateOp>(op))
    return update(updateOp);
  if (auto write = dyn_cast<WriteOp>(op)) {
    written_[write.getState()] = values_.at(write.getValue());
    return success();
  }
  return compute(op);
}

LogicalResult GraphRun::read(ReadOp op) {
  auto state = states_.find(op.getState());
  if (state == states_.end() || !fits(state->second, op.getType()))
    return op.emitOpError("reads state @")
           << op.getState() << ", whose value is missing or does not fit "
           << op.getType();
  values_[op.getResult()] = state->second;
  return success();
}

LogicalResult GraphRun::update(UpdateOp op) {
  if (!gradients_)
    return op.emitOpError("cannot be evaluated before expand-optimizer");
  (*gradients_)[op.getParameter()] = values_.at(op.getGradient());
  return success();
}

LogicalResult GraphRun::compute(Operation &op) {
  auto results = evaluateSettling(op, operandsOf(op), settling_);
  if (failed(results))
    return failure();
  for (auto [value, result] : llvm::zip(op.getResults(), *results))
    add(value, std::move(result));
  return success();
}

/// Copies of the values that a later op uses, too; the others themselves.
SmallVector<HostTensor> GraphRun::operandsOf(Operation &op) {
  SmallVector<HostTensor> operands;
  for (OpOperand &operand : op.getOpOperands()) {
    HostTensor &value = values_.find(operand.get())->second;
    auto [left, isFirstUse] = usesLeft_.try_emplace(operand.get(), 0);
    if (isFirstUse)
      left->second = llvm::range_size(operand.get().getUses());
    if (--left->second)
      operands.push_back(value);
    else
      operands.push_back(std::move(value));
  }
  return operands;
}

SmallVector<HostTensor> GraphRun::valuesOf(ValueRange range) const {
  return llvm::map_to_vector(range,
                             [&](Value value) { return values_.at(value); });
}

void GraphRun::showWrites() {
  for (auto &state : written_)
    states_[state.getKey()] = std::move(state.second);
}

FailureOr<SmallVector<HostTensor>>
gradus::evaluateSettling(GraphOp graph, ArrayRef<HostTensor> inputs,
                         StateMap &states, StateMap *gradients,
                         Settling &settling) {
  GraphRun run(states, gradients, settling);
  if (failed(run.begin(graph, inputs)))
    return failure();
  for (Operation &op : graph.getBody().front().without_terminator())
    if (failed(run.run(op)))
      return failure();
  run.showWrites();
  return run.valuesOf(graph.getReturned());
}

FailureOr<SmallVector<HostTensor>>
gradus::evaluateGraph(GraphOp graph, ArrayRef<HostTensor> inputs,
                      StateMap &states, StateMap *gradients) {
  Settling none;
  return evaluateSettling(graph, inputs, states, gradients, none);
}
