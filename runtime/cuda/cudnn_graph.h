// Operations of cuDNN and the tensors between them, as one graph, which one
// execution plan computes.
#pragma once

#include "runtime/cuda/cudnn_session.h"
#include "runtime/cuda/library_tensor.h"

namespace gradus::runtime::cuda::cudnn {

/// Where a tensor is when the graph runs.
struct Place {
  enum class In { inputs, outputs, scratch, host } in = In::inputs;
  int64_t id = 0;     // the tensor's in the graph
  uint64_t index = 0; // of the input or output; byte offset in scratch
  float number = 0;   // on the host
};

/// Bytes from the command's tensors to those that one run of a graph takes.
struct RunOffsets {
  std::vector<uint64_t> inputs, outputs;
};

struct OperationGraph {
  std::string what;              // "a convolution of 32x3x224x224xbf16"
  std::vector<Descriptor> parts; // what the graph is made of
  Descriptor graph;
  std::vector<Place> places;
  std::vector<RunOffsets> runs; // empty: one run computes the command
  uint64_t scratchBytes = 0;    // for tensors of the graph
  bool isF32 = false;           // what is multiplied is f32, and to stay so
};

/// Makes one. The first failure is kept, and said by `finish`.
class GraphBuilder {
public:
  using Tensor = size_t;

  GraphBuilder(const Session &session, std::string what);

  Tensor input(const StridedTensor &tensor, size_t index);
  Tensor output(const StridedTensor &tensor, size_t index);
  /// Written and read by the graph's operations.
  Tensor scratch(const StridedTensor &tensor);
  /// Nowhere in memory.
  Tensor between(const StridedTensor &tensor);
  /// One number of f32.
  Tensor number(float number);

  const Descriptor &operator[](Tensor tensor) const {
    return made_.parts[tensor];
  }
  /// What an operation holds, and operations: kept, and finalized.
  const Descriptor &part(Descriptor descriptor);
  void operation(Descriptor descriptor);
  Descriptor make(Kind kind) const { return {session_.library, kind}; }

  StatusOr<OperationGraph> finish();

private:
  Tensor add(const StridedTensor &tensor, bool isVirtual, bool isNumber);
  Tensor add(const StridedTensor &tensor, Place::In in, uint64_t index);

  const Session &session_;
  OperationGraph made_;
  std::vector<RawDescriptor> operations_;
  Status failure_;
};

} // namespace gradus::runtime::cuda::cudnn
