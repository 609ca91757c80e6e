// The reference of scans: the body, op by op, once for each step.

#include "ir/evaluator/settling.h"
#include "ir/scan_ops.h"

using namespace mlir;
using namespace gradus;

/// The slice of a step.
static HostTensor sliceAt(const HostTensor &sequence, int64_t step) {
  HostTensor slice =
      zeros(ArrayRef(sequence.shape).drop_front(), sequence.isFloat);
  int64_t size = slice.size(), start = step * size;
  if (sequence.isFloat)
    std::copy_n(sequence.floats.begin() + start, size, slice.floats.begin());
  else
    std::copy_n(sequence.integers.begin() + start, size,
                slice.integers.begin());
  return slice;
}

static void setSlice(HostTensor &sequence, int64_t step,
                     const HostTensor &slice) {
  int64_t start = step * slice.size();
  llvm::copy(slice.floats,
             sequence.floats.begin() + (slice.isFloat ? start : 0));
  llvm::copy(slice.integers,
             sequence.integers.begin() + (slice.isFloat ? 0 : start));
}

/// What the body yields for the values of its arguments.
static FailureOr<SmallVector<HostTensor>>
yieldedBy(ScanOp op, SmallVector<HostTensor> arguments, Settling &settling) {
  DenseMap<Value, HostTensor> values;
  for (auto [argument, value] :
       llvm::zip_equal(op.getBodyBlock().getArguments(), arguments))
    values[argument] = std::move(value);
  auto of = [&](OperandRange operands) {
    return llvm::map_to_vector(operands,
                               [&](Value value) { return values.at(value); });
  };
  for (Operation &inner : op.getBodyBlock().without_terminator()) {
    auto results = evaluateSettling(inner, of(inner.getOperands()), settling);
    if (failed(results))
      return failure();
    for (auto [value, result] : llvm::zip(inner.getResults(), *results)) {
      settling.made(value, result);
      values[value] = std::move(result);
    }
  }
  return of(op.getYielded());
}

FailureOr<SmallVector<HostTensor>>
ScanOp::evaluate(ArrayRef<HostTensor> operands) {
  Settling none;
  return evaluateSettling(*this, operands, none);
}

FailureOr<SmallVector<HostTensor>>
gradus::evaluateSettling(ScanOp op, ArrayRef<HostTensor> operands,
                         Settling &settling) {
  size_t carried = op.getCarried().size(), sequences = op.getSequences().size();
  SmallVector<HostTensor> results(operands.take_front(carried));
  for (Type type : TypeRange(op.getResultTypes()).drop_front(carried))
    results.push_back(zeros(cast<RankedTensorType>(type)));
  for (int64_t i = 0; i < int64_t(op.getSteps()); ++i) {
    int64_t step = op.getReverse() ? op.getSteps() - 1 - i : i;
    SmallVector<HostTensor> arguments(ArrayRef(results).take_front(carried));
    for (const HostTensor &sequence : operands.slice(carried, sequences))
      arguments.push_back(sliceAt(sequence, step));
    llvm::append_range(arguments, operands.drop_front(carried + sequences));
    auto yielded = yieldedBy(op, std::move(arguments), settling);
    if (failed(yielded))
      return failure();
    for (auto [number, value] : llvm::enumerate(*yielded))
      if (number < carried)
        results[number] = std::move(value);
      else
        setSlice(results[number], step, value);
  }
  return results;
}
