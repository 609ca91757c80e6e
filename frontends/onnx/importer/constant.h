// A value that is known when the model is read: shapes and values computed from
// them, scalars, masks.
#pragma once

#include "ir/host_tensor.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace gradus::onnx {

struct Constant {
  HostTensor tensor;
  mlir::Type element;

  mlir::RankedTensorType type() const {
    return mlir::RankedTensorType::get(tensor.shape, element);
  }
};

/// A constant of this shape with all elements zero. Throws FoldingLimit if it
/// is too large (frontends/onnx/importer/folding_budget.h).
Constant zeros(mlir::Type element, llvm::ArrayRef<int64_t> shape);
/// A vector of i64.
Constant integers(llvm::ArrayRef<int64_t> values, mlir::MLIRContext &context);

Constant fromAttribute(mlir::DenseElementsAttr elements);
mlir::DenseElementsAttr toAttribute(const Constant &constant);

} // namespace gradus::onnx
