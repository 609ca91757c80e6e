// Writes a planned program as an artifact: sections of bytes, and the header
// that describes them. Section offsets depend on the header's size, so it is
// built twice.

#include "codegen/artifact_writer.h"

#include "codegen/command_writer.h"
#include "codegen/initial_values.h"
#include "runtime/artifact_hash.h"

using namespace mlir;
using namespace gradus;

namespace fb = gradus::artifact;

namespace {

using Bytes = std::vector<char>;

/// The sections of the file in order: their bytes, and where they lie once the
/// size of the header is known.
class Sections {
public:
  unsigned add(Bytes bytes) {
    contents_.push_back(std::move(bytes));
    offsets_.push_back(0);
    return contents_.size() - 1;
  }

  void layOut(size_t headerSize) {
    size_t at = headerSize;
    for (size_t i = 0; i < contents_.size(); ++i) {
      at = (at + 63) / 64 * 64;
      offsets_[i] = contents_[i].empty() ? 0 : at;
      at += contents_[i].size();
    }
  }

  flatbuffers::Offset<fb::Section>
  describe(flatbuffers::FlatBufferBuilder &builder, unsigned index) const {
    const Bytes &bytes = contents_[index];
    return fb::CreateSection(
        builder, offsets_[index], bytes.size(),
        fb::hashBytes(reinterpret_cast<const uint8_t *>(bytes.data()),
                      bytes.size()));
  }

  void appendTo(Bytes &file) const {
    for (size_t i = 0; i < contents_.size(); ++i) {
      if (contents_[i].empty())
        continue;
      file.resize(offsets_[i]);
      file.insert(file.end(), contents_[i].begin(), contents_[i].end());
    }
  }

private:
  std::vector<Bytes> contents_;
  std::vector<size_t> offsets_;
};

class Writer {
public:
  explicit Writer(const ArtifactParts &parts) : parts_(parts) {}

  llvm::Expected<Bytes> run() {
    collectWeights();
    constants_ = sections_.add(constantBytes());
    weights_ = sections_.add(std::move(weightBytes_));
    for (const TargetPlan &plan : parts_.plans) {
      addCode(plan);
      signatures_.push_back(sections_.add(codeHeader(plan)));
    }
    size_t size = buildHeader().size();
    sections_.layOut(size);
    Bytes file = buildHeader();
    if (file.size() != size)
      return llvm::createStringError(
          "artifact header changed its size from %zu to %zu", size,
          file.size());
    sections_.appendTo(file);
    file.resize((file.size() + 63) / 64 * 64);
    return file;
  }

private:
  void collectWeights() {
    for (auto state : program().getBody().getOps<StateOp>()) {
      if (uniformValue(state)) {
        initial_.push_back(0);
        continue;
      }
      weightBytes_.resize((weightBytes_.size() + 63) / 64 * 64);
      initial_.push_back(weightBytes_.size());
      Bytes bytes = initialBytes(state, parts_.seed);
      weightBytes_.insert(weightBytes_.end(), bytes.begin(), bytes.end());
    }
  }

  Bytes constantBytes() {
    Bytes bytes;
    for (DenseElementsAttr constant : parts_.constants.order) {
      bytes.resize(parts_.constants.offsets.lookup(constant));
      appendElements(bytes, constant);
    }
    bytes.resize(parts_.constants.bytes);
    return bytes;
  }

  /// Booleans take a byte; everything else is stored as it is.
  static void appendElements(Bytes &bytes, DenseElementsAttr constant) {
    if (constant.getElementType().isInteger(1)) {
      for (bool bit : constant.getValues<bool>())
        bytes.push_back(bit);
      return;
    }
    ArrayRef<char> raw = constant.getRawData();
    int64_t copies = constant.isSplat() ? constant.getNumElements() : 1;
    for (int64_t i = 0; i < copies; ++i)
      bytes.insert(bytes.end(), raw.begin(), raw.end());
  }

  /// A section of machine code, or one for each image.
  void addCode(const TargetPlan &plan) {
    std::vector<unsigned> &sections = code_.emplace_back();
    if (auto *cpu = std::get_if<CpuCode>(&plan.code))
      sections.push_back(sections_.add(cpu->code));
    else
      for (const GpuImage &image : std::get<GpuImages>(plan.code).images)
        sections.push_back(sections_.add(image.code));
  }

  static Bytes codeHeader(const TargetPlan &plan) {
    flatbuffers::FlatBufferBuilder builder;
    std::vector<flatbuffers::Offset<fb::KernelSignature>> kernels;
    auto *cpu = std::get_if<CpuCode>(&plan.code);
    auto *gpu = std::get_if<GpuImages>(&plan.code);
    for (auto [index, kernel] : llvm::enumerate(plan.program->kernels))
      kernels.push_back(kernelSignature(builder, kernel,
                                        cpu ? cpu->kernels[index].entry : 0,
                                        gpu ? &gpu->kernels[index] : nullptr));
    builder.Finish(
        fb::CreateCodeHeader(builder, builder.CreateVector(kernels)));
    const char *data =
        reinterpret_cast<const char *>(builder.GetBufferPointer());
    return Bytes(data, data + builder.GetSize());
  }

  Bytes buildHeader() {
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceDefaults(true);
    auto name = builder.CreateString(program().getSymName().str());
    auto recipe = builder.CreateString(parts_.recipe);
    auto producer = builder.CreateString("gradus " GRADUS_VERSION);
    auto states = writeStates(builder);
    auto graphs = writeGraphs(builder);
    auto schedules = writeSchedules(builder);
    auto plans = writePlans(builder);
    auto constants = sections_.describe(builder, constants_);
    auto weights = sections_.describe(builder, weights_);
    auto header = fb::CreateHeader(builder, fb::kVersion, /*header_hash=*/1,
                                   producer, name, recipe, states, graphs,
                                   schedules, plans, constants, weights,
                                   parts_.classes, parts_.deterministic);
    builder.FinishSizePrefixed(header, fb::HeaderIdentifier());
    fb::sealHeader(builder.GetBufferPointer(), builder.GetSize());
    const char *data =
        reinterpret_cast<const char *>(builder.GetBufferPointer());
    return Bytes(data, data + builder.GetSize());
  }

  template <typename Table>
  using List =
      flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<Table>>>;

  List<fb::State> writeStates(flatbuffers::FlatBufferBuilder &builder) {
    std::vector<flatbuffers::Offset<fb::State>> states;
    for (auto [index, state] :
         llvm::enumerate(program().getBody().getOps<StateOp>())) {
      std::optional<double> fill = uniformValue(state);
      states.push_back(fb::CreateState(
          builder, builder.CreateString(state.getSymName().str()),
          writeType(builder, state.getType()), roleOf(state), !fill.has_value(),
          initial_[index], fill.value_or(0)));
    }
    return builder.CreateVector(states);
  }

  static fb::Role roleOf(StateOp state) {
    if (state->hasAttr("copy")) // passes/store_rounded_weights.cpp
      return fb::Role::copy;
    return static_cast<fb::Role>(static_cast<uint32_t>(state.getRole()));
  }

  List<fb::Graph> writeGraphs(flatbuffers::FlatBufferBuilder &builder) {
    std::vector<flatbuffers::Offset<fb::Graph>> graphs;
    for (auto graph : program().getBody().getOps<GraphOp>()) {
      auto inputs = writePorts(builder, graph.getInputNames(),
                               graph.getArgumentTypes(), parts_.indexLimits);
      auto outputs =
          writePorts(builder, graph.getOutputNames(), graph.getResultTypes());
      graphs.push_back(fb::CreateGraph(
          builder, builder.CreateString(graph.getSymName().str()), inputs,
          outputs));
    }
    return builder.CreateVector(graphs);
  }

  static List<fb::Port> writePorts(flatbuffers::FlatBufferBuilder &builder,
                                   ArrayAttr names, ArrayRef<Type> types,
                                   const IndexLimits &limits = {}) {
    std::vector<flatbuffers::Offset<fb::Port>> ports;
    for (auto [attribute, type] : llvm::zip(names, types)) {
      StringRef name = cast<StringAttr>(attribute).getValue();
      ports.push_back(fb::CreatePort(builder, builder.CreateString(name.str()),
                                     writeType(builder, type),
                                     limits.lookup(name)));
    }
    return builder.CreateVector(ports);
  }

  List<fb::Schedule> writeSchedules(flatbuffers::FlatBufferBuilder &builder) {
    std::vector<flatbuffers::Offset<fb::Schedule>> schedules;
    for (auto schedule : program().getBody().getOps<ScheduleOp>()) {
      std::vector<int64_t> every, at;
      std::vector<uint32_t> variants;
      // The dialect's last variant that fits runs, the file's first.
      for (auto variant : schedule.getBody().getOps<VariantOp>()) {
        every.insert(every.begin(), variant.getEvery());
        at.insert(at.begin(), variant.getAt());
        variants.insert(variants.begin(), graphNumber(variant.getGraph()));
      }
      schedules.push_back(fb::CreateSchedule(
          builder, builder.CreateString(schedule.getGraph().str()),
          builder.CreateVector(every), builder.CreateVector(variants),
          builder.CreateString(schedule.getCounter().value_or("").str()),
          builder.CreateVector(at)));
    }
    return builder.CreateVector(schedules);
  }

  uint32_t graphNumber(StringRef name) const {
    uint32_t number = 0;
    for (auto graph : program().getBody().getOps<GraphOp>()) {
      if (graph.getSymName() == name)
        break;
      ++number;
    }
    return number;
  }

  List<fb::Plan> writePlans(flatbuffers::FlatBufferBuilder &builder) {
    std::vector<flatbuffers::Offset<fb::Plan>> plans;
    for (size_t i = 0; i < parts_.plans.size(); ++i)
      plans.push_back(writePlan(builder, i));
    return builder.CreateVector(plans);
  }

  flatbuffers::Offset<fb::Plan>
  writePlan(flatbuffers::FlatBufferBuilder &builder, size_t index) {
    const TargetPlan &plan = parts_.plans[index];
    BufferTable buffers;
    std::vector<flatbuffers::Offset<fb::GraphPlan>> graphs;
    int64_t arena = 0;
    const Tuning none, &tuning = plan.target.cpu() ? none : parts_.tuning;
    for (auto [number, memory] : llvm::enumerate(plan.program->memory)) {
      graphs.push_back(writeGraphPlan(builder, *plan.program, parts_.states,
                                      number, buffers, tuning));
      arena = std::max(arena, memory.arena);
    }
    std::vector<uint64_t> offsets;
    for (auto state : program().getBody().getOps<StateOp>())
      offsets.push_back(parts_.states.offsets.lookup(state.getSymName()));
    std::vector<std::string> needed;
    if (const CpuTarget *cpu = plan.target.cpu())
      needed = requiredFeatures(*cpu);
    auto features = builder.CreateVectorOfStrings(needed);
    auto name = builder.CreateString(plan.target.name);
    auto table = buffers.write(builder);
    auto graphVector = builder.CreateVector(graphs);
    auto offsetVector = builder.CreateVector(offsets);
    flatbuffers::Offset<fb::Section> code;
    List<fb::CodeImage> images;
    if (auto *gpu = std::get_if<GpuImages>(&plan.code))
      images = writeImages(builder, *gpu, code_[index]);
    else
      code = sections_.describe(builder, code_[index].front());
    auto kernels = sections_.describe(builder, signatures_[index]);
    return fb::CreatePlan(builder, name, features, parts_.threads, table,
                          graphVector, offsetVector, parts_.states.bytes, arena,
                          code, kernels, needed.size(), images);
  }

  List<fb::CodeImage> writeImages(flatbuffers::FlatBufferBuilder &builder,
                                  const GpuImages &code,
                                  ArrayRef<unsigned> sections) const {
    std::vector<flatbuffers::Offset<fb::CodeImage>> images;
    for (auto [image, section] : llvm::zip_equal(code.images, sections)) {
      std::vector<flatbuffers::Offset<fb::ImageKernel>> kernels;
      for (auto [index, use] : llvm::enumerate(image.kernels))
        kernels.push_back(fb::CreateImageKernel(
            builder, image.entries.empty() ? 0 : image.entries[index],
            use.registers, use.stack, use.spilled, use.shared));
      auto architecture = builder.CreateString(image.architecture);
      auto features = builder.CreateVectorOfStrings(image.features);
      auto described = sections_.describe(builder, section);
      images.push_back(fb::CreateCodeImage(builder, imageKind(image.kind),
                                           architecture, features, described,
                                           builder.CreateVector(kernels)));
    }
    return builder.CreateVector(images);
  }

  static fb::ImageKind imageKind(GpuImage::Kind kind) {
    switch (kind) {
    case GpuImage::cubin:
      return fb::ImageKind::cubin;
    case GpuImage::ptx:
      return fb::ImageKind::ptx;
    case GpuImage::emulated:
      return fb::ImageKind::emulated;
    }
    return fb::ImageKind::cubin;
  }

  ProgramOp program() const { return parts_.program; }

  const ArtifactParts &parts_;
  Sections sections_;
  Bytes weightBytes_;
  std::vector<uint64_t> initial_; // offset of each state's initial value
  unsigned constants_ = 0, weights_ = 0;
  std::vector<std::vector<unsigned>> code_; // of each plan
  std::vector<unsigned> signatures_;        // one a plan
};

} // namespace

llvm::Expected<std::vector<char>>
gradus::writeArtifact(const ArtifactParts &parts) {
  return Writer(parts).run();
}
