// Conversion of constants from and to MLIR attributes.

#include "frontends/onnx/importer/constant.h"

#include "frontends/onnx/importer/folding_budget.h"

#include "ir/evaluator/evaluator.h"

namespace gradus::onnx {

using namespace mlir;

Constant zeros(Type element, ArrayRef<int64_t> shape) {
  FoldingBudget::check(shape);
  return {gradus::zeros(shape, isa<FloatType>(element)), element};
}

Constant integers(ArrayRef<int64_t> values, MLIRContext &context) {
  Constant result =
      zeros(Builder(&context).getI64Type(), {int64_t(values.size())});
  result.tensor.integers.assign(values.begin(), values.end());
  return result;
}

Constant fromAttribute(DenseElementsAttr elements) {
  // Dense elements are always in memory, so this cannot fail.
  return {*toHost(elements), elements.getElementType()};
}

DenseElementsAttr toAttribute(const Constant &constant) {
  return toElements(constant.tensor, constant.type());
}

} // namespace gradus::onnx
