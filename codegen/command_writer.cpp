// Writes the commands of a graph, and the buffers that they use, as tables of
// the artifact.

#include "codegen/command_writer.h"

#include "codegen/locations.h"
#include "codegen/traffic.h"
#include "runtime/library_text.h"

using namespace mlir;
using namespace gradus;

namespace fb = gradus::artifact;
using Tables = flatbuffers::FlatBufferBuilder;

static fb::DType dtypeOf(Type type) {
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

uint32_t BufferTable::add(Place place, Type type) {
  return addEntry({place, tensorBytes(type), type});
}

uint32_t BufferTable::addBytes(int64_t offset, int64_t bytes) {
  return addEntry({{MemoryRegion::arena, offset}, bytes, Type()});
}

uint32_t BufferTable::addEntry(Entry entry) {
  Key key(static_cast<int>(entry.place.region), entry.place.offset, entry.size,
          entry.type.getAsOpaquePointer());
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
        entry.place.offset, entry.size, type));
  }
  return builder.CreateVector(buffers);
}

//===-- commands ----------------------------------------------------------===//

namespace {

/// The payload of a command and its fields in `Command`.
struct Payload {
  fb::CommandKind kind;
  flatbuffers::Offset<void> table;
  std::string name;
  uint64_t flops = 0;
  uint64_t bytes = 0;
};

class GraphWriter {
public:
  GraphWriter(Tables &builder, const PlannedProgram &program,
              const StatePlaces &states, size_t graph, BufferTable &buffers,
              const Tuning &tuning, const std::optional<GpuModel> &gpu)
      : builder_(builder), program_(program), states_(states),
        graph_(program.graphs[graph]), number_(graph),
        memory_(program.memory[graph]), buffers_(buffers), tuning_(tuning),
        gpu_(gpu) {
    for (auto [index, kernel] : llvm::enumerate(program.kernels))
      kernelNumbers_[plan::KernelOp(kernel).getSymName()] = index;
  }

  flatbuffers::Offset<fb::GraphPlan> run() {
    for (Operation *command : commandsOf(graph_))
      addCommand(command);
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

private:
  uint32_t bufferOf(Value value) {
    return buffers_.add(memory_.at(value), value.getType());
  }

  /// The buffer of an output; a returned old value of a state is in its
  /// snapshot.
  uint32_t outputBuffer(Value output) {
    auto kept = memory_.snapshots.find(storageOf(output));
    if (kept == memory_.snapshots.end())
      return bufferOf(output);
    return buffers_.add({MemoryRegion::arena, kept->second}, output.getType());
  }

  void addCommand(Operation *command) {
    auto launch = dyn_cast<plan::LaunchOp>(command);
    Payload payload = launch ? kernelCommand(launch)
                             : libraryCommand(cast<plan::LibraryOp>(command));
    add(payload, nodesAt(command->getLoc()));
  }

  void add(const Payload &payload, const std::vector<std::string> &nodes) {
    auto name = builder_.CreateString(payload.name);
    auto nodeVector = builder_.CreateVectorOfStrings(nodes);
    commands_.push_back(fb::CreateCommand(builder_, payload.kind, payload.table,
                                          name, nodeVector, payload.flops,
                                          payload.bytes));
  }

  /// Writes a launch; segment s has the s-th of `count` equal parts of the
  /// operands and results.
  Payload kernelCommand(plan::LaunchOp launch) {
    size_t count = launch.getItems().size();
    size_t inputs = launch.getOperands().size() / count;
    size_t outputs = launch.getResults().size() / count;
    std::vector<flatbuffers::Offset<fb::Segment>> segments;
    for (size_t s = 0; s < count; ++s) {
      std::vector<uint32_t> buffers;
      for (Value operand : launch.getOperands().slice(s * inputs, inputs))
        buffers.push_back(bufferOf(operand));
      for (Value result : launch.getResults().slice(s * outputs, outputs))
        buffers.push_back(bufferOf(result));
      segments.push_back(fb::CreateSegment(
          builder_, builder_.CreateVector(buffers), launch.getItems()[s]));
    }
    uint32_t number = kernelNumber(launch.getKernel());
    plan::KernelOp kernel = program_.kernels[number];
    auto table = fb::CreateKernelCommand(
        builder_, number, builder_.CreateVector(segments), launch.getGrain());
    return {fb::CommandKind::KernelCommand, table.Union(),
            launch.getLabel().value_or(launch.getKernel()).str(),
            static_cast<uint64_t>(launch.getFlops()),
            trafficOf(launch, kernel, gpu_)};
  }

  uint32_t kernelNumber(StringRef name) const {
    return kernelNumbers_.lookup(name); // Symbols were verified.
  }

  Payload libraryCommand(plan::LibraryOp library) {
    auto table = libraryTable(builder_, library, choicesFor(library));
    return {fb::CommandKind::LibraryCommand, table.Union(),
            library.getLabel().value_or(library.getCall()).str(),
            static_cast<uint64_t>(library.getFlops()), trafficOf(library)};
  }

  /// The measured algorithms for a call, which is identified by its table.
  std::vector<TunedAlgorithm> choicesFor(plan::LibraryOp library) {
    if (tuning_.empty())
      return {};
    Tables alone;
    alone.Finish(libraryTable(alone, library, {}));
    auto found = tuning_.find(runtime::libraryText(
        *flatbuffers::GetRoot<fb::LibraryCommand>(alone.GetBufferPointer())));
    return found == tuning_.end() ? std::vector<TunedAlgorithm>()
                                  : found->second;
  }

  flatbuffers::Offset<fb::LibraryCommand>
  libraryTable(Tables &builder, plan::LibraryOp library,
               const std::vector<TunedAlgorithm> &choices) {
    std::vector<flatbuffers::Offset<fb::LibraryTensor>> inputs, outputs;
    for (auto [index, operand] : llvm::enumerate(library.getOperands()))
      inputs.push_back(libraryTensor(builder, library, index, operand));
    for (auto [index, result] : llvm::enumerate(library.getResults()))
      outputs.push_back(
          libraryTensor(builder, library, inputs.size() + index, result));
    auto inputVector = builder.CreateVector(inputs);
    auto outputVector = builder.CreateVector(outputs);
    auto strides = integers(builder, library.getConfig(), "strides");
    auto dilations = integers(builder, library.getConfig(), "dilations");
    auto begin = integers(builder, library.getConfig(), "pads_begin");
    auto end = integers(builder, library.getConfig(), "pads_end");
    auto measured = writeChoices(builder, choices);
    return fb::CreateLibraryCommand(
        builder, operation(library.getCall()), inputVector, outputVector,
        strides, dilations, begin, end, activation(library), scratchOf(library),
        /*logical_threads=*/0, numberIn(library.getConfig(), "scale"),
        library.getConfig().contains("causal"), measured,
        library.getEpilogue() ? kernelNumber(*library.getEpilogue())
                              : UINT32_MAX);
  }

  static flatbuffers::Offset<
      flatbuffers::Vector<flatbuffers::Offset<fb::LibraryChoice>>>
  writeChoices(Tables &builder, const std::vector<TunedAlgorithm> &choices) {
    if (choices.empty())
      return 0;
    std::vector<flatbuffers::Offset<fb::LibraryChoice>> tables;
    for (const TunedAlgorithm &choice : choices)
      tables.push_back(fb::CreateLibraryChoiceDirect(
          builder, choice.card.c_str(), choice.library.c_str(),
          choice.algorithm.c_str()));
    return builder.CreateVector(tables);
  }

  static fb::LibraryOp operation(StringRef call) {
    for (fb::LibraryOp op : fb::EnumValuesLibraryOp())
      if (call == fb::EnumNameLibraryOp(op))
        return op;
    return fb::LibraryOp::matmul;
  }

  static fb::Activation activation(plan::LibraryOp library) {
    auto name = library.getConfig().getAs<StringAttr>("activation");
    for (fb::Activation value : fb::EnumValuesActivation())
      if (name && name.getValue() == fb::EnumNameActivation(value))
        return value;
    return fb::Activation::none;
  }

  uint32_t scratchOf(plan::LibraryOp library) {
    if (!library.getScratch())
      return UINT32_MAX;
    return buffers_.addBytes(memory_.scratch.lookup(library),
                             library.getScratch());
  }

  static double numberIn(DictionaryAttr from, StringRef key) {
    auto number = from.getAs<FloatAttr>(key);
    return number ? number.getValueAsDouble() : 0;
  }

  static flatbuffers::Offset<flatbuffers::Vector<int64_t>>
  integers(Tables &builder, DictionaryAttr from, StringRef key) {
    std::vector<int64_t> values;
    if (auto array = from.getAs<DenseI64ArrayAttr>(key))
      values.assign(array.asArrayRef().begin(), array.asArrayRef().end());
    return builder.CreateVector(values);
  }

  flatbuffers::Offset<fb::LibraryTensor> libraryTensor(Tables &builder,
                                                       plan::LibraryOp library,
                                                       size_t index,
                                                       Value value) {
    auto layout = cast<DictionaryAttr>(library.getLayouts()[index]);
    auto dims = integers(builder, layout, "dims");
    auto strides = integers(builder, layout, "strides");
    auto padded = integers(builder, layout, "padded_dims");
    auto blocks = integers(builder, layout, "inner_blocks");
    auto axes = integers(builder, layout, "inner_axes");
    Type element = cast<ShapedType>(value.getType()).getElementType();
    return fb::CreateLibraryTensor(builder, bufferOf(value), dtypeOf(element),
                                   dims, strides, padded, blocks, axes);
  }

  void addCopies() {
    for (auto &[value, offset] : memory_.snapshots)
      addCopy(bufferOf(value),
              buffers_.add({MemoryRegion::arena, offset}, value.getType()),
              value, "keep");
    for (const FinalCopy &copy : memory_.copies) {
      Place to{MemoryRegion::state, states_.offsets.lookup(copy.state)};
      addCopy(outputBuffer(copy.source),
              buffers_.add(to, copy.source.getType()), copy.source,
              "copy to " + copy.state);
    }
  }

  void addCopy(uint32_t source, uint32_t destination, Value value,
               std::string name) {
    auto table = fb::CreateCopyCommand(builder_, source, destination);
    uint64_t bytes = 2 * tensorBytes(value.getType());
    add({fb::CommandKind::CopyCommand, table.Union(), std::move(name), 0,
         bytes},
        nodesAt(value.getLoc()));
  }

  Tables &builder_;
  const PlannedProgram &program_;
  const StatePlaces &states_;
  GraphOp graph_;
  size_t number_;
  const GraphMemory &memory_;
  BufferTable &buffers_;
  const Tuning &tuning_;
  const std::optional<GpuModel> &gpu_;
  llvm::StringMap<uint32_t> kernelNumbers_;
  std::vector<flatbuffers::Offset<fb::Command>> commands_;
};

} // namespace

flatbuffers::Offset<fb::GraphPlan>
gradus::writeGraphPlan(Tables &builder, const PlannedProgram &program,
                       const StatePlaces &states, size_t graph,
                       BufferTable &buffers, const Tuning &tuning,
                       const std::optional<GpuModel> &gpu) {
  return GraphWriter(builder, program, states, graph, buffers, tuning, gpu)
      .run();
}
