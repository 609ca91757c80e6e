// Products of the emulated card's library: one matrix of each batch at a time.

#include "runtime/cuda/emulated_ops.h"
#include "runtime/cuda/emulated_product.h"

namespace gradus::runtime::cuda {

/// Weights may be shared by matrices of the batch, and the bias by all of it.
EmulatedOp matmulOp(const artifact::LibraryCommand &command,
                    const Tensors &inputs, const Tensors &outputs) {
  std::vector<int64_t> dims = outputs[0].dims, shared = dims;
  shared.end()[-2] = inputs[0].dims.back();
  Matrices source(inputs[0]), weights(broadcast(inputs[1], shared)),
      result(outputs[0]);
  std::optional<Matrices> bias;
  if (inputs.size() > 2)
    bias.emplace(broadcast(inputs[2], dims));
  return [=, activation = command.activation()](const CallAddresses &at) {
    Numbers a, b, c;
    for (size_t i = 0; i < result.count(); ++i) {
      source.read(at.inputs[0], i, a);
      if (!weights.isRepeated(i))
        weights.read(at.inputs[1], i, b);
      if (bias)
        bias->read(at.inputs[2], i, c);
      else
        c.assign(size_t(result.rows() * result.columns()), 0);
      addProduct(result.rows(), source.columns(), result.columns(),
                 {a.data(), source.columns()}, {b.data(), weights.columns()},
                 {c.data(), result.columns()});
      activate(activation, c);
      result.write(c, at.outputs[0], i);
    }
  };
}

} // namespace gradus::runtime::cuda
