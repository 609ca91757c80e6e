// Matmul in the emulated GPU's library: one matrix of the batch at a time.

#include "runtime/emulated/emulated_ops.h"
#include "runtime/emulated/emulated_product.h"

namespace gradus::runtime::cuda {

namespace {

using artifact::Activation;

/// The epilogue of a matmul, matrix by matrix.
struct Epilogue {
  Activation activation = Activation::none;
  std::optional<Matrices> added;              // before the activation
  std::optional<Matrices> slopesAt;           // inputs of gelu_tanh's gradient
  std::optional<Matrices> activated;          // keeps the activation's input
  bool sumsRows = false, sumsColumns = false; // of the operands
};

/// Finds the epilogue of a command by the rules of the schema.
Epilogue epilogueOf(const artifact::LibraryCommand &command,
                    const Tensors &inputs, const Tensors &outputs) {
  const std::vector<int64_t> &dims = outputs[0].dims;
  Epilogue made;
  made.activation = activationOf(command);
  bool isGradient = made.activation == Activation::gelu_tanh_gradient;
  if (inputs.size() > 2)
    (isGradient ? made.slopesAt : made.added)
        .emplace(broadcast(inputs[2], dims));
  if (outputs.size() < 2)
    return made;
  if (made.activation != Activation::none)
    made.activated.emplace(outputs[1]);
  else if (outputs[1].dims.end()[-2] == 1)
    made.sumsColumns = true;
  else
    made.sumsRows = true;
  return made;
}

/// Sums the rows of a matrix, or its columns.
Numbers sumsOf(const Numbers &matrix, int64_t columns, bool ofRows) {
  int64_t rows = int64_t(matrix.size()) / columns;
  Numbers sums(size_t(ofRows ? rows : columns), 0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      sums[size_t(ofRows ? i : j)] += matrix[size_t(i * columns + j)];
  return sums;
}

} // namespace

/// Weights may be shared by matrices of the batch, and the bias by all of it.
/// Operands are summed only if there is one matrix.
EmulatedOp matmulOp(const artifact::LibraryCommand &command,
                    const Tensors &inputs, const Tensors &outputs) {
  std::vector<int64_t> shared = outputs[0].dims;
  shared.end()[-2] = inputs[0].dims.back();
  Matrices source(inputs[0]), weights(broadcast(inputs[1], shared)),
      result(outputs[0]);
  StridedTensor second = outputs.back();
  return [=, epilogue = epilogueOf(command, inputs, outputs)](
             const CallAddresses &at) {
    Numbers a, b, c, slopesAt;
    for (size_t i = 0; i < result.count(); ++i) {
      source.read(at.inputs[0], i, a);
      if (!weights.isRepeated(i))
        weights.read(at.inputs[1], i, b);
      if (epilogue.added)
        epilogue.added->read(at.inputs[2], i, c);
      else
        c.assign(size_t(result.rows() * result.columns()), 0);
      addProduct(result.rows(), source.columns(), result.columns(),
                 {a.data(), source.columns()}, {b.data(), weights.columns()},
                 {c.data(), result.columns()});
      if (epilogue.activated)
        epilogue.activated->write(c, at.outputs[1], i);
      if (epilogue.slopesAt) {
        epilogue.slopesAt->read(at.inputs[2], i, slopesAt);
        multiplyByGeluSlopes(slopesAt, c);
      } else {
        activate(epilogue.activation, c);
      }
      result.write(c, at.outputs[0], i);
    }
    if (epilogue.sumsRows)
      writeNumbers(second, sumsOf(a, source.columns(), true).data(),
                   at.outputs[1]);
    if (epilogue.sumsColumns)
      writeNumbers(second, sumsOf(b, weights.columns(), false).data(),
                   at.outputs[1]);
  };
}

} // namespace gradus::runtime::cuda
