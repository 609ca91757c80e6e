// Operations of cuDNN and the tensors between them as one graph, which one
// execution plan computes.
#pragma once

#include "runtime/cuda/libraries/cudnn_session.h"
#include "runtime/cuda/libraries/library_tensor.h"

namespace gradus::runtime::cuda::cudnn {

/// The memory of a tensor when the graph runs.
struct Place {
  enum class In { inputs, outputs, scratch, host } in = In::inputs;
  int64_t id = 0;     // the tensor's id in the graph
  uint64_t index = 0; // of the input or output; byte offset in scratch
  float number = 0;   // on the host
};

/// Byte offsets from the command's tensors to those of one run of a graph.
struct RunOffsets {
  std::vector<uint64_t> inputs, outputs;
};

struct OperationGraph {
  std::string what;              // "a convolution of 32x3x224x224xbf16"
  std::vector<Descriptor> parts; // descriptors in the graph
  Descriptor graph;
  std::vector<Place> places;
  std::vector<RunOffsets> runs; // empty: one run computes the command
  uint64_t scratchBytes = 0;    // for tensors of the graph
  bool isF32 = false;           // operands are f32 and must not be rounded
};

/// Builds a graph. The first failure is kept, and reported by `finish`.
class GraphBuilder {
public:
  using Tensor = size_t;

  GraphBuilder(const Session &session, std::string what);

  Tensor input(const StridedTensor &tensor, size_t index);
  Tensor output(const StridedTensor &tensor, size_t index);
  /// A tensor that operations of the graph write and read.
  Tensor scratch(const StridedTensor &tensor);
  /// A tensor that is not in memory.
  Tensor between(const StridedTensor &tensor);
  /// An f32 scalar.
  Tensor number(float number);

  const Descriptor &operator[](Tensor tensor) const {
    return made_.parts[tensor];
  }
  /// Adds a part of an operation, or an operation, and finalizes it.
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
