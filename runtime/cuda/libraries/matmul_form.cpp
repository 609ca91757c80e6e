// Checks types, merges batch dimensions, then decides which operand is first.

#include "runtime/cuda/libraries/matmul_form.h"

#include "runtime/cuda/libraries/library_tensor.h"
#include "runtime/flat.h"
#include "runtime/library_ops.h"

#include <algorithm>

namespace gradus::runtime::cuda {

namespace {

using artifact::Activation;
using artifact::DType;

//===-- types -------------------------------------------------------------===//

bool isTaken(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

Status checkTypes(DType source, DType weights, DType result) {
  if (!isTaken(source) || source != weights ||
      (result != source && result != DType::f32))
    return invalid("cuBLASLt multiplies no ", nameOf(source), " by ",
                   nameOf(weights), " into ", nameOf(result));
  return Status();
}

Status checkActivation(Activation activation) {
  if (activation == Activation::none || activation == Activation::relu ||
      activation == Activation::gelu_tanh ||
      activation == Activation::gelu_tanh_gradient)
    return Status();
  return invalid("cuBLASLt has no ", artifact::EnumNameActivation(activation),
                 " behind a product");
}

//===-- batches -----------------------------------------------------------===//

struct Axis {
  int64_t size = 1, source = 0, weights = 0, result = 0; // size, strides
};

/// The stride of a batch dimension; 0 if one matrix serves all.
int64_t batchStride(const StridedTensor &tensor, size_t axis) {
  return tensor.dims[axis] == 1 ? 0 : tensor.strides[axis];
}

/// Whether `outer` and `inner` merge to one axis with the strides of `inner`.
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

/// A matrix of a tensor: its last two axes, or their transpose.
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

/// Whether columns are contiguous and do not overlap. The stride of an axis
/// with one element does not matter.
bool hasColumns(const View &view) {
  return (view.rowStride == 1 || view.rows == 1) &&
         (view.columnStride >= view.rows || view.columns == 1);
}

/// Describes a column-major matrix.
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

/// Merges the batch into the rows if there is one matrix of weights and the
/// rows continue from batch to batch.
void joinRows(Axis &batch, View &source, View &result) {
  if (batch.size == 1 || batch.weights != 0 ||
      batch.source != source.rows * source.rowStride ||
      batch.result != result.rows * result.rowStride)
    return;
  source.rows = result.rows = batch.size * result.rows;
  source.batchStride = result.batchStride = 0;
  batch.size = 1;
}

//===-- epilogues ---------------------------------------------------------===//

/// Checks a bias along the columns of `d`, as cuBLASLt adds it.
Status checkBias(const StridedTensor &bias, const MatmulForm &form) {
  if (bias.dtype != form.d.dtype)
    return invalid("cuBLASLt adds no bias of ", nameOf(bias.dtype), " to ",
                   nameOf(form.d.dtype));
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

/// Checks sums: one contiguous element of the result's type for each row or
/// column of the result, summed from contiguous vectors: cuBLASLt has BGRADA
/// for a plain a, and BGRADB for a transposed b.
StatusOr<Summed> summedBy(const StridedTensor &sums, const MatmulForm &form) {
  bool isOfWeights = sums.dims.end()[-2] == 1;
  size_t axis = sums.rank() - (isOfWeights ? 1 : 2);
  bool isOfA = isOfWeights == form.isSwapped;
  int64_t expected = isOfA ? form.d.rows : form.d.columns, elements = 1;
  for (int64_t dim : sums.dims)
    elements *= dim;
  if (sums.dtype != form.d.dtype || form.batches > 1 || elements != expected ||
      sums.dims[axis] != expected || (expected > 1 && sums.strides[axis] != 1))
    return invalid("cuBLASLt sums operands of one product into ", expected,
                   " elements of ", nameOf(form.d.dtype),
                   " that lie together, and these are ",
                   toString(TensorType{sums.dtype, sums.dims}));
  if (isOfA ? form.a.isTransposed : !form.b.isTransposed)
    return invalid("cuBLASLt sums an operand whose elements that go into "
                   "different sums lie together, and those of this ",
                   isOfWeights ? "matrix of weights" : "source",
                   " go into one");
  return isOfA ? Summed::a : Summed::b;
}

/// Checks a matrix with the layout of the result and columns of 8 elements or
/// more.
Status checkGeluInput(const StridedTensor &input, const StridedTensor &result,
                      const MatmulForm &form) {
  constexpr int64_t step = 8;
  if (input.dtype != form.d.dtype || input.dtype != form.a.dtype ||
      input.strides != result.strides || form.batches > 1 ||
      form.d.lead % step != 0)
    return invalid("cuBLASLt keeps what gelu_tanh is of in the type of all "
                   "others, as one result lies, by ",
                   form.isSwapped ? "rows" : "columns",
                   " of a multiple of 8 elements, and this is ",
                   toString(TensorType{input.dtype, input.dims}));
  return Status();
}

/// Adds the rest of the command; operands and result are described already.
Status addEpilogue(const artifact::LibraryCommand &command, MatmulForm &form) {
  const auto &inputs = *command.inputs(), &outputs = *command.outputs();
  form.activation = activationOf(command);
  GRADUS_TRY(checkActivation(form.activation));
  GRADUS_ASSIGN(StridedTensor result, stridedOf(*outputs.Get(0)));
  if (inputs.size() > 2) {
    GRADUS_ASSIGN(StridedTensor third, stridedOf(*inputs.Get(2)));
    form.hasGeluInput = form.activation == Activation::gelu_tanh_gradient;
    form.hasBias = !form.hasGeluInput;
    GRADUS_TRY(form.hasBias ? checkBias(third, form)
                            : checkGeluInput(third, result, form));
  }
  if (outputs.size() < 2)
    return Status();
  GRADUS_ASSIGN(StridedTensor second, stridedOf(*outputs.Get(1)));
  if (form.activation == Activation::none) {
    GRADUS_ASSIGN(form.summed, summedBy(second, form));
    return Status();
  }
  form.hasGeluInput = true;
  return checkGeluInput(second, result, form);
}

} // namespace

StatusOr<MatmulForm> matmulFormOf(const artifact::LibraryCommand &command) {
  const auto &inputs = *command.inputs();
  GRADUS_ASSIGN(StridedTensor source, stridedOf(*inputs.Get(0)));
  GRADUS_ASSIGN(StridedTensor weights, stridedOf(*inputs.Get(1)));
  GRADUS_ASSIGN(StridedTensor result, stridedOf(*command.outputs()->Get(0)));
  GRADUS_TRY(checkTypes(source.dtype, weights.dtype, result.dtype));

  GRADUS_ASSIGN(Axis batch, batchOf(source, weights, result));
  View x = viewOf(source, batch.source), w = viewOf(weights, batch.weights),
       y = viewOf(result, batch.result);
  joinRows(batch, x, y);

  MatmulForm form;
  form.batches = batch.size;
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
  GRADUS_TRY(addEpilogue(command, form));
  return form;
}

} // namespace gradus::runtime::cuda
