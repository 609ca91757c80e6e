// Writes the commands of a graph, and the buffers that they use, as tables of
// the artifact.
#pragma once

#include "codegen/artifact/traffic.h"
#include "codegen/artifact/tuning.h"
#include "codegen/targets/target_plan.h"
#include "runtime/artifact_generated.h"

#include <map>
#include <tuple>

namespace gradus {

flatbuffers::Offset<artifact::TensorType>
writeType(flatbuffers::FlatBufferBuilder &builder, mlir::Type type);

artifact::DType dtypeOf(mlir::Type type);

/// The data with which the runtime checks the arguments of a kernel. `gpu` is
/// its launch if it is for GPUs.
flatbuffers::Offset<artifact::KernelSignature>
kernelSignature(flatbuffers::FlatBufferBuilder &builder, plan::KernelOp kernel,
                uint64_t entry, const GpuKernel *gpu = nullptr);

/// The buffers of one plan, without duplicates.
class BufferTable {
public:
  /// With `parts` the buffer is a rank's part of a tensor: so many follow each
  /// other, and `place` is that of rank 0.
  uint32_t add(Place place, mlir::Type type, int64_t parts = 0);
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
    int64_t parts = 0;
  };
  using Key = std::tuple<int, int64_t, int64_t, const void *, int64_t>;
  uint32_t addEntry(Entry entry);

  std::vector<Entry> entries_;
  std::map<Key, uint32_t> numbers_;
};

/// The facts on a command that the artifact has beside its table.
struct CommandFacts {
  std::string name;
  uint64_t flops = 0;
  uint64_t bytes = 0; // traffic.h
};

/// Writes the commands of a graph, of which each op writes its own
/// (plan.td, interface Command) by what is public here.
class CommandWriter {
public:
  /// Library commands get the algorithms that `tuning` has for their calls.
  CommandWriter(flatbuffers::FlatBufferBuilder &builder,
                const PlannedProgram &program, const StatePlaces &states,
                size_t graph, BufferTable &buffers, const Tuning &tuning,
                LaunchTraffic &traffic);

  flatbuffers::Offset<artifact::GraphPlan> run();

  /// Adds a command whose table stands in tables(), with the nodes of the model
  /// that its location names.
  template <typename Table>
  void add(mlir::Location location, flatbuffers::Offset<Table> table,
           const CommandFacts &facts) {
    addCommand(location, artifact::CommandKindTraits<Table>::enum_value,
               table.Union(), facts);
  }
  flatbuffers::FlatBufferBuilder &tables() { return builder_; }

  uint32_t bufferOf(mlir::Value value);
  /// Returns the buffer of a command's scratch, or UINT32_MAX if it has none.
  uint32_t scratchOf(plan::Command command);
  uint32_t kernelNumber(llvm::StringRef name) const;
  plan::KernelOp kernel(uint32_t number) const;
  const Tuning &tuning() const { return tuning_; }
  LaunchTraffic &traffic() { return traffic_; }

private:
  uint32_t outputBuffer(mlir::Value output);
  void addCommand(mlir::Location location, artifact::CommandKind kind,
                  flatbuffers::Offset<void> table, const CommandFacts &facts);
  void addCopies();
  void addCopy(uint32_t source, uint32_t destination, mlir::Value value,
               std::string name);

  flatbuffers::FlatBufferBuilder &builder_;
  const PlannedProgram &program_;
  const StatePlaces &states_;
  GraphOp graph_;
  size_t number_;
  const GraphMemory &memory_;
  BufferTable &buffers_;
  const Tuning &tuning_;
  LaunchTraffic &traffic_;
  llvm::StringMap<uint32_t> kernelNumbers_;
  std::vector<flatbuffers::Offset<artifact::Command>> commands_;
};

} // namespace gradus
