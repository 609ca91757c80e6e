// Writes the commands of a graph, and the buffers that they use, as tables of
// the artifact.
#pragma once

#include "codegen/target_plan.h"
#include "codegen/tuning.h"
#include "runtime/artifact_generated.h"

#include <map>
#include <tuple>

namespace gradus {

flatbuffers::Offset<artifact::TensorType>
writeType(flatbuffers::FlatBufferBuilder &builder, mlir::Type type);

/// The data with which the runtime checks the arguments of a kernel. `gpu` is
/// its launch if it is for GPUs.
flatbuffers::Offset<artifact::KernelSignature>
kernelSignature(flatbuffers::FlatBufferBuilder &builder, plan::KernelOp kernel,
                uint64_t entry, const GpuKernel *gpu = nullptr);

/// The buffers of one plan, without duplicates.
class BufferTable {
public:
  uint32_t add(Place place, mlir::Type type);
  /// Adds raw bytes of the arena, for the scratch of a library call.
  uint32_t addBytes(int64_t offset, int64_t bytes);

  flatbuffers::Offset<
      flatbuffers::Vector<flatbuffers::Offset<artifact::Buffer>>>
  write(flatbuffers::FlatBufferBuilder &builder) const;

private:
  struct Entry {
    Place place;
    int64_t size;
    mlir::Type type; // null: bytes
  };
  using Key = std::tuple<int, int64_t, int64_t, const void *>;
  uint32_t addEntry(Entry entry);

  std::vector<Entry> entries_;
  std::map<Key, uint32_t> numbers_;
};

/// Library commands get the algorithms that `tuning` has for their calls.
/// `gpu` is the model of the GPU that the plan is for, if it is (traffic.h).
flatbuffers::Offset<artifact::GraphPlan>
writeGraphPlan(flatbuffers::FlatBufferBuilder &builder,
               const PlannedProgram &program, const StatePlaces &states,
               size_t graph, BufferTable &buffers, const Tuning &tuning,
               const std::optional<GpuModel> &gpu);

} // namespace gradus
