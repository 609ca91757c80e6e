// A tensor's id in the graph is its index among the parts plus 1.

#include "runtime/cuda/libraries/cudnn_graph.h"

#include "runtime/cuda/driver/step_memory.h"

namespace gradus::runtime::cuda::cudnn {

namespace {

constexpr int64_t kAlignment = 16; // the maximum that engines need

DataType dataTypeOf(artifact::DType dtype) {
  switch (dtype) {
  case artifact::DType::f16:
    return DataType::f16;
  case artifact::DType::bf16:
    return DataType::bf16;
  case artifact::DType::i32:
    return DataType::i32;
  case artifact::DType::boolean:
    return DataType::boolean;
  default:
    return DataType::f32;
  }
}

} // namespace

GraphBuilder::GraphBuilder(const Session &session, std::string what)
    : session_(session) {
  made_.what = std::move(what);
}

GraphBuilder::Tensor GraphBuilder::add(const StridedTensor &tensor,
                                       bool isVirtual, bool isNumber) {
  Descriptor descriptor = make(Kind::tensor);
  descriptor.set(Attribute::tensorType, dataTypeOf(tensor.dtype))
      .set(Attribute::tensorDims, tensor.dims)
      .set(Attribute::tensorStrides, tensor.strides)
      .set(Attribute::tensorId, int64_t(made_.parts.size() + 1))
      .set(Attribute::tensorAlignment, kAlignment)
      .set(Attribute::tensorIsVirtual, isVirtual)
      .set(Attribute::tensorIsValue, isNumber);
  part(std::move(descriptor));
  return made_.parts.size() - 1;
}

GraphBuilder::Tensor GraphBuilder::add(const StridedTensor &tensor,
                                       Place::In in, uint64_t index) {
  Tensor made = add(tensor, false, false);
  made_.places.push_back({in, int64_t(made + 1), index, 0});
  return made;
}

GraphBuilder::Tensor GraphBuilder::input(const StridedTensor &tensor,
                                         size_t index) {
  return add(tensor, Place::In::inputs, index);
}

GraphBuilder::Tensor GraphBuilder::output(const StridedTensor &tensor,
                                          size_t index) {
  return add(tensor, Place::In::outputs, index);
}

GraphBuilder::Tensor GraphBuilder::scratch(const StridedTensor &tensor) {
  uint64_t offset = made_.scratchBytes;
  made_.scratchBytes += aligned(tensor.bytes());
  return add(tensor, Place::In::scratch, offset);
}

GraphBuilder::Tensor GraphBuilder::between(const StridedTensor &tensor) {
  return add(tensor, true, false);
}

GraphBuilder::Tensor GraphBuilder::number(float number) {
  Tensor made =
      add({artifact::DType::f32, {1, 1, 1, 1}, {1, 1, 1, 1}}, false, true);
  made_.places.push_back({Place::In::host, int64_t(made + 1), 0, number});
  return made;
}

const Descriptor &GraphBuilder::part(Descriptor descriptor) {
  if (failure_.ok())
    failure_ = descriptor.finalize(inWords("describing ", made_.what));
  made_.parts.push_back(std::move(descriptor));
  return made_.parts.back();
}

void GraphBuilder::operation(Descriptor descriptor) {
  operations_.push_back(part(std::move(descriptor)).raw());
}

StatusOr<OperationGraph> GraphBuilder::finish() {
  GRADUS_TRY(failure_);
  made_.graph = make(Kind::operationGraph);
  if (session_.handle)
    made_.graph.set(Attribute::graphHandle, session_.handle);
  made_.graph.setDescriptors(Attribute::graphOperations, operations_);
  GRADUS_TRY(made_.graph.finalize(inWords("describing ", made_.what)));
  return std::move(made_);
}

} // namespace gradus::runtime::cuda::cudnn
