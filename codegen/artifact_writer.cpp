// Writes a planned program as an artifact: the header, and behind it sections
// of bytes, each made where it stays. A large model's weights are copied once.

#include "codegen/artifact_writer.h"

#include "codegen/command_writer.h"
#include "codegen/initial_values.h"
#include "ir/values_in_place.h"
#include "runtime/artifact_hash.h"

using namespace mlir;
using namespace gradus;

namespace fb = gradus::artifact;

namespace {

using Bytes = std::vector<char>;

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Keeps the place of each section in the file, known once all is written.
class Sections {
public:
  unsigned add() {
    places_.emplace_back();
    return places_.size() - 1;
  }

  /// Writes a section at the end of the file: what `append` appends.
  void write(unsigned index, Bytes &file,
             llvm::function_ref<void(Bytes &)> append) {
    size_t begin = aligned(file.size());
    file.resize(begin);
    append(file);
    size_t size = file.size() - begin;
    places_[index] = {size ? begin : 0, size,
                      hashOf(file.data() + begin, size)};
  }

  flatbuffers::Offset<fb::Section>
  describe(flatbuffers::FlatBufferBuilder &builder, unsigned index) const {
    const Place &place = places_[index];
    return fb::CreateSection(builder, place.offset, place.size, place.hash);
  }

private:
  static uint64_t hashOf(const char *bytes, size_t size) {
    return fb::hashBytes(reinterpret_cast<const uint8_t *>(bytes), size);
  }

  struct Place {
    uint64_t offset = 0, size = 0, hash = 0;
  };
  std::vector<Place> places_;
};

class Writer {
public:
  explicit Writer(const ArtifactParts &parts) : parts_(parts) {}

  /// The header's size does not hang on what is in the sections, so it is built
  /// once to leave room for it, and again when they are there.
  llvm::Expected<Bytes> run() {
    addSections();
    size_t size = buildHeader().size();
    Bytes file;
    file.reserve(size + mostBytes());
    file.resize(size);
    writeSections(file);
    Bytes header = buildHeader();
    if (header.size() != size)
      return llvm::createStringError(
          "artifact header changed its size from %zu to %zu", size,
          header.size());
    llvm::copy(header, file.begin());
    file.resize(aligned(file.size()));
    return file;
  }

private:
  void addSections() {
    auto states = program().getBody().getOps<StateOp>();
    initial_.resize(llvm::range_size(states));
    constants_ = sections_.add();
    weights_ = sections_.add();
    for (const TargetPlan &plan : parts_.plans) {
      std::vector<unsigned> &sections = code_.emplace_back();
      for (size_t code = 0; code < codesOf(plan).size(); ++code)
        sections.push_back(sections_.add());
      signatures_.push_back(sections_.add());
    }
  }

  void writeSections(Bytes &file) {
    sections_.write(constants_, file,
                    [&](Bytes &out) { appendConstants(out); });
    sections_.write(weights_, file, [&](Bytes &out) { appendWeights(out); });
    for (auto [index, plan] : llvm::enumerate(parts_.plans)) {
      for (auto [section, code] : llvm::zip_equal(code_[index], codesOf(plan)))
        sections_.write(section, file,
                        [&](Bytes &out) { llvm::append_range(out, code); });
      sections_.write(signatures_[index], file, [&](Bytes &out) {
        llvm::append_range(out, codeHeader(plan));
      });
    }
  }

  /// About what the sections take, and not less: a file that has to grow is
  /// there twice.
  size_t mostBytes() const {
    constexpr size_t kSignature = 4096; // of a kernel
    size_t bytes = parts_.constants.bytes + parts_.states.bytes;
    for (const TargetPlan &plan : parts_.plans) {
      for (ArrayRef<char> code : codesOf(plan))
        bytes += aligned(code.size());
      bytes += plan.program->kernels.size() * kSignature;
    }
    return bytes + bytes / 64;
  }

  /// Each state's value is given back when it is in the file.
  void appendWeights(Bytes &file) {
    size_t begin = file.size();
    for (auto [index, state] :
         llvm::enumerate(program().getBody().getOps<StateOp>())) {
      if (uniformValue(state))
        continue;
      file.resize(aligned(file.size()));
      initial_[index] = file.size() - begin;
      appendInitialBytes(file, state, parts_.seed);
      giveBackValues(state.getValueAttr());
    }
  }

  void appendConstants(Bytes &file) const {
    size_t begin = file.size();
    for (DenseElementsAttr constant : parts_.constants.order) {
      file.resize(begin + parts_.constants.offsets.lookup(constant));
      appendElements(file, constant);
    }
    file.resize(begin + parts_.constants.bytes);
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

  /// The machine code of a plan, or of each of its images.
  static SmallVector<ArrayRef<char>> codesOf(const TargetPlan &plan) {
    if (auto *cpu = std::get_if<CpuCode>(&plan.code))
      return {cpu->code};
    SmallVector<ArrayRef<char>> codes;
    for (const GpuImage &image : std::get<GpuImages>(plan.code).images)
      codes.push_back(image.code);
    return codes;
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
