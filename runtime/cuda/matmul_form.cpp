// Types first, then batches to one, then which operand comes first.

#include "runtime/cuda/matmul_form.h"

#include "runtime/cuda/library_tensor.h"
#include "runtime/flat.h"

#include <algorithm>
#include <optional>

namespace gradus::runtime::cuda {

namespace {

using artifact::Activation;
using artifact::DType;

//===-- types -------------------------------------------------------------===//

bool isTaken(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

Status checkTypes(DType source, DType weights, DType result,
                  std::optional<DType> bias) {
  if (!isTaken(source) || source != weights ||
      (result != source && result != DType::f32))
    return invalid("cuBLASLt multiplies no ", nameOf(source), " by ",
                   nameOf(weights), " into ", nameOf(result));
  if (bias && *bias != result)
    return invalid("cuBLASLt adds no bias of ", nameOf(*bias), " to ",
                   nameOf(result));
  return Status();
}

Status checkActivation(Activation activation) {
  if (activation == Activation::none || activation == Activation::relu ||
      activation == Activation::gelu_tanh)
    return Status();
  return invalid("cuBLASLt has no ", artifact::EnumNameActivation(activation),
                 " behind a product");
}

//===-- batches -----------------------------------------------------------===//

struct Axis {
  int64_t size = 1, source = 0, weights = 0, result = 0; // and strides
};

/// A stride of 0 where one matrix serves all.
int64_t batchStride(const StridedTensor &tensor, size_t axis) {
  return tensor.dims[axis] == 1 ? 0 : tensor.strides[axis];
}

/// Whether `outer` and `inner` are one axis with the strides of `inner`.
bool joins(const Axis &outer, const Axis &inner) {
  return outer.source == inner.source * inner.size &&
         outer.weights == inner.weights * inner.size &&
         outer.result == inner.result * inner.size;
}

StatusOr<Axis> batchOf(const StridedTensor &source,
                       const StridedTensor &weights,
                       const StridedTensor &result) {
  Axis batch;
  for (size_t i = result.rank() - 2; i-- > 0;) {
    Axis axis{result.dims[i], batchStride(source, i), batchStride(weights, i),
              batchStride(result, i)};
    if (axis.size == 1)
      continue;
    if (batch.size == 1)
      batch = axis;
    else if (joins(axis, batch))
      batch.size *= axis.size;
    else
      return invalid("cuBLASLt takes one batch, and the batch axes of this "
                     "product have strides that are none");
  }
  return batch;
}

//===-- matrices ----------------------------------------------------------===//

/// A matrix of a tensor: its last two axes, or those turned around.
struct View {
  DType dtype;
  int64_t rows, columns, rowStride, columnStride, batchStride;

  View turned() const {
    return {dtype, columns, rows, columnStride, rowStride, batchStride};
  }
};

View viewOf(const StridedTensor &tensor, int64_t batchStride) {
  size_t rank = tensor.rank();
  return {tensor.dtype,
          tensor.dims[rank - 2],
          tensor.dims[rank - 1],
          tensor.strides[rank - 2],
          tensor.strides[rank - 1],
          batchStride};
}

/// Whether the elements of a column lie together, and columns apart. A stride
/// of an axis of one element says nothing.
bool hasColumns(const View &view) {
  return (view.rowStride == 1 || view.rows == 1) &&
         (view.columnStride >= view.rows || view.columns == 1);
}

/// One that is stored by columns.
StoredMatrix stored(const View &view) {
  StoredMatrix matrix;
  matrix.dtype = view.dtype;
  matrix.rows = view.rows;
  matrix.columns = view.columns;
  matrix.lead = view.columns == 1 ? view.rows : view.columnStride;
  matrix.batchStride = view.batchStride;
  return matrix;
}

StatusOr<StoredMatrix> operand(const View &view, const char *what) {
  if (hasColumns(view))
    return stored(view);
  if (!hasColumns(view.turned()))
    return invalid("cuBLASLt reads matrices whose rows or columns lie "
                   "together, and the ",
                   what, " has strides ", view.rowStride, " and ",
                   view.columnStride);
  StoredMatrix matrix = stored(view.turned());
  matrix.isTransposed = true;
  return matrix;
}

/// One matrix of weights and rows that go on from batch to batch are one
/// product of more rows.
void joinRows(Axis &batch, View &source, View &result) {
  if (batch.size == 1 || batch.weights != 0 ||
      batch.source != source.rows * source.rowStride ||
      batch.result != result.rows * result.rowStride)
    return;
  source.rows = result.rows = batch.size * result.rows;
  source.batchStride = result.batchStride = 0;
  batch.size = 1;
}

/// Along the columns of `d`, as cuBLASLt adds it.
Status checkBias(const StridedTensor &bias, const MatmulForm &form) {
  int64_t elements = 1;
  for (int64_t dim : bias.dims)
    elements *= dim;
  size_t axis = bias.rank() - (form.isSwapped ? 1 : 2);
  if (elements != bias.dims[axis] || elements != form.d.rows ||
      (elements > 1 && bias.strides[axis] != 1))
    return invalid("cuBLASLt adds a bias of one element for each of the ",
                   form.d.rows, " in a ", form.isSwapped ? "row" : "column",
                   " of the result, and this one is ",
                   toString(TensorType{bias.dtype, bias.dims}));
  return Status();
}

} // namespace

StatusOr<MatmulForm> matmulFormOf(const artifact::LibraryCommand &command) {
  const auto &inputs = *command.inputs();
  GRADUS_ASSIGN(StridedTensor source, stridedOf(*inputs.Get(0)));
  GRADUS_ASSIGN(StridedTensor weights, stridedOf(*inputs.Get(1)));
  GRADUS_ASSIGN(StridedTensor result, stridedOf(*command.outputs()->Get(0)));
  std::optional<StridedTensor> bias;
  if (inputs.size() > 2) {
    GRADUS_ASSIGN(bias, stridedOf(*inputs.Get(2)));
  }
  GRADUS_TRY(checkTypes(source.dtype, weights.dtype, result.dtype,
                        bias ? std::optional(bias->dtype) : std::nullopt));
  GRADUS_TRY(checkActivation(command.activation()));

  GRADUS_ASSIGN(Axis batch, batchOf(source, weights, result));
  View x = viewOf(source, batch.source), w = viewOf(weights, batch.weights),
       y = viewOf(result, batch.result);
  joinRows(batch, x, y);

  MatmulForm form;
  form.activation = command.activation();
  form.batches = batch.size;
  form.hasBias = bias.has_value();
  form.isSwapped = hasColumns(y.turned());
  if (!form.isSwapped && !hasColumns(y))
    return invalid("cuBLASLt writes matrices whose rows or columns lie "
                   "together, and the result has strides ",
                   y.rowStride, " and ", y.columnStride);
  form.d = stored(form.isSwapped ? y.turned() : y);
  GRADUS_ASSIGN(form.a, form.isSwapped
                            ? operand(w.turned(), "matrix of weights")
                            : operand(x, "source"));
  GRADUS_ASSIGN(form.b, form.isSwapped ? operand(x.turned(), "source")
                                       : operand(w, "matrix of weights"));
  if (bias)
    GRADUS_TRY(checkBias(*bias, form));
  return form;
}

} // namespace gradus::runtime::cuda
