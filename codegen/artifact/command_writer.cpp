// Writes the commands of a graph, and the buffers that they use, as tables of
// the artifact.

#include "codegen/artifact/command_writer.h"

#include "codegen/artifact/locations.h"

using namespace mlir;
using namespace gradus;

namespace fb = gradus::artifact;
using Tables = flatbuffers::FlatBufferBuilder;

fb::DType gradus::dtypeOf(Type type) {
  if (type.isF32())
    return fb::DType::f32;
  if (type.isF64())
    return fb::DType::f64;
  if (type.isF16())
    return fb::DType::f16;
  if (type.isBF16())
    return fb::DType::bf16;
  if (type.isInteger(1))
    return fb::DType::boolean;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 8:
    return isUnsigned ? fb::DType::u8 : fb::DType::i8;
  case 16:
    return isUnsigned ? fb::DType::u16 : fb::DType::i16;
  case 32:
    return isUnsigned ? fb::DType::u32 : fb::DType::i32;
  }
  return isUnsigned ? fb::DType::u64 : fb::DType::i64;
}

flatbuffers::Offset<fb::TensorType> gradus::writeType(Tables &builder,
                                                      Type type) {
  auto tensor = cast<ShapedType>(type);
  auto shape = builder.CreateVector(tensor.getShape().data(), tensor.getRank());
  return fb::CreateTensorType(builder, dtypeOf(tensor.getElementType()), shape);
}

//===-- kernels -----------------------------------------------------------===//

static flatbuffers::Offset<fb::GpuLaunch> launchOf(Tables &builder,
                                                   const GpuKernel &kernel) {
  std::vector<uint64_t> scratch(kernel.scratchBytes.begin(),
                                kernel.scratchBytes.end());
  return fb::CreateGpuLaunch(builder, kernel.threads, kernel.mostBlocks,
                             kernel.piece, builder.CreateVector(scratch),
                             kernel.operations);
}

flatbuffers::Offset<fb::KernelSignature>
gradus::kernelSignature(Tables &builder, plan::KernelOp kernel, uint64_t entry,
                        const GpuKernel *gpu) {
  std::vector<uint64_t> fixed, perItem;
  for (Type type : kernel.getArgumentTypes()) {
    auto buffer = cast<MemRefType>(type);
    int64_t element = std::max<int64_t>(1, buffer.getElementTypeBitWidth() / 8);
    fixed.push_back(buffer.hasStaticShape() ? buffer.getNumElements() * element
                                            : 0);
    perItem.push_back(buffer.hasStaticShape() ? 0 : element);
  }
  auto name = builder.CreateString(kernel.getSymName().str());
  auto fixedVector = builder.CreateVector(fixed);
  auto perItemVector = builder.CreateVector(perItem);
  auto launch =
      gpu ? launchOf(builder, *gpu) : flatbuffers::Offset<fb::GpuLaunch>();
  int64_t items =
      kernel.getSplit() == plan::Split::flat ? 0 : kernel.getItems();
  return fb::CreateKernelSignature(
      builder, name, entry, fixedVector, perItemVector, items,
      kernel.getNumArguments() - kernel.getInputs(), launch);
}

//===-- buffers -----------------------------------------------------------===//

uint32_t BufferTable::add(Place place, Type type, int64_t parts) {
  return addEntry({place, tensorBytes(type), type, parts});
}

uint32_t BufferTable::addBytes(int64_t offset, int64_t bytes) {
  return addEntry({{MemoryRegion::arena, offset}, bytes, Type()});
}

uint32_t BufferTable::addEntry(Entry entry) {
  Key key(static_cast<int>(entry.place.region), entry.place.offset, entry.size,
          entry.type.getAsOpaquePointer(), entry.parts);
  auto [found, isNew] = numbers_.try_emplace(key, entries_.size());
  if (isNew)
    entries_.push_back(entry);
  return found->second;
}

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Buffer>>>
BufferTable::write(Tables &builder) const {
  std::vector<flatbuffers::Offset<fb::Buffer>> buffers;
  for (const Entry &entry : entries_) {
    auto type =
        entry.type ? writeType(builder, entry.type)
                   : fb::CreateTensorType(builder, fb::DType::u8,
                                          builder.CreateVector(&entry.size, 1));
    buffers.push_back(fb::CreateBuffer(
        builder, static_cast<fb::Region>(static_cast<int>(entry.place.region)),
        entry.place.offset, entry.size, type, entry.parts ? entry.size : 0,
        entry.parts));
  }
  return builder.CreateVector(buffers);
}

//===-- commands ----------------------------------------------------------===//

CommandWriter::CommandWriter(Tables &builder, const PlannedProgram &program,
                             const StatePlaces &states, size_t graph,
                             BufferTable &buffers, const Tuning &tuning,
                             LaunchTraffic &traffic)
    : builder_(builder), program_(program), states_(states),
      graph_(program.graphs[graph]), number_(graph),
      memory_(program.memory[graph]), buffers_(buffers), tuning_(tuning),
      traffic_(traffic) {
  for (auto [index, kernel] : llvm::enumerate(program.kernels))
    kernelNumbers_[plan::KernelOp(kernel).getSymName()] = index;
}

flatbuffers::Offset<fb::GraphPlan> CommandWriter::run() {
  for (Operation *command : commandsOf(graph_))
    cast<plan::Command>(command).write(*this);
  std::vector<uint32_t> inputs, outputs;
  for (Value input : graph_.getBody().getArguments())
    inputs.push_back(bufferOf(input));
  for (Value output : graph_.getReturned())
    outputs.push_back(outputBuffer(output));
  addCopies();
  auto inputVector = builder_.CreateVector(inputs);
  auto outputVector = builder_.CreateVector(outputs);
  auto commands = builder_.CreateVector(commands_);
  return fb::CreateGraphPlan(builder_, number_, inputVector, outputVector,
                             commands, memory_.bound);
}

uint32_t CommandWriter::bufferOf(Value value) {
  return buffers_.add(memory_.at(value), value.getType(), partsAt(value));
}

/// The buffer of an output; a returned old value of a state is in its
/// snapshot.
uint32_t CommandWriter::outputBuffer(Value output) {
  auto kept = memory_.snapshots.find(storageOf(output));
  if (kept == memory_.snapshots.end())
    return bufferOf(output);
  return buffers_.add({MemoryRegion::arena, kept->second}, output.getType(),
                      partsAt(output));
}

uint32_t CommandWriter::scratchOf(plan::Command command) {
  int64_t bytes = command.getScratchBytes();
  return bytes ? buffers_.addBytes(memory_.scratch.lookup(command), bytes)
               : UINT32_MAX;
}

uint32_t CommandWriter::kernelNumber(StringRef name) const {
  return kernelNumbers_.lookup(name); // Symbols were verified.
}

plan::KernelOp CommandWriter::kernel(uint32_t number) const {
  return program_.kernels[number];
}

void CommandWriter::addCommand(Location location, fb::CommandKind kind,
                               flatbuffers::Offset<void> table,
                               const CommandFacts &facts) {
  auto name = builder_.CreateString(facts.name);
  auto nodes = builder_.CreateVectorOfStrings(nodesAt(location));
  commands_.push_back(fb::CreateCommand(builder_, kind, table, name, nodes,
                                        facts.flops, facts.bytes));
}

//===-- copies ------------------------------------------------------------===//

void CommandWriter::addCopies() {
  for (auto &[value, offset] : memory_.snapshots)
    addCopy(bufferOf(value),
            buffers_.add({MemoryRegion::arena, offset}, value.getType()), value,
            "keep");
  for (const FinalCopy &copy : memory_.copies) {
    Place to{MemoryRegion::state, states_.offsets.lookup(copy.state)};
    addCopy(outputBuffer(copy.source), buffers_.add(to, copy.source.getType()),
            copy.source, "copy to " + copy.state);
  }
}

void CommandWriter::addCopy(uint32_t source, uint32_t destination, Value value,
                            std::string name) {
  uint64_t bytes = 2 * tensorBytes(value.getType());
  add(value.getLoc(), fb::CreateCopyCommand(builder_, source, destination),
      {std::move(name), 0, bytes});
}
