// Writes a planned program as an artifact: first the sections, then the header
// in front of them. The bytes of sections are hashed and passed on at once, so
// that a large model's weights are not copied.

#include "codegen/artifact/artifact_writer.h"

#include "codegen/artifact/command_writer.h"
#include "codegen/artifact/initial_values.h"
#include "codegen/artifact/program_section.h"
#include "ir/evaluator/values_in_place.h"
#include "passes/distribution.h"
#include "passes/numbers.h"
#include "runtime/artifact_hash.h"

using namespace mlir;
using namespace gradus;

namespace fb = gradus::artifact;

namespace {

using Bytes = std::vector<char>;

/// The size of the chunks that are hashed and passed on: they fit in a core's
/// cache.
constexpr size_t kPiece = 256 << 10;
static_assert(kPiece % fb::BytesHash::kBlock == 0);

uint64_t aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// The logical ranks of a step: 0 where it is not on ranks, so that the key has
/// no effect.
int64_t logicalRanksOf(ProgramOp program) {
  return isDataParallel(program)
             ? distributionOf(program).logicalRanks.value_or(0)
             : 0;
}

/// The ranks that a step is for; 0: any number.
int64_t ranksOf(ProgramOp program) {
  return isDataParallel(program) ? distributionOf(program).ranks.value_or(0)
                                 : 0;
}

/// Writes a file after its header, section by section.
class Output {
public:
  Output(const ArtifactSink &sink, uint64_t begin) : sink_(sink), sent_(begin) {
    rest_.reserve(kPiece);
  }

  uint64_t end() const { return sent_ + rest_.size(); }
  /// Whether the sink accepted all bytes.
  bool isWhole() const { return isWhole_; }

  void append(ArrayRef<char> bytes) {
    while (rest_.size() + bytes.size() >= kPiece) {
      ArrayRef<char> piece = bytes.take_front(kPiece - rest_.size());
      bytes = bytes.drop_front(piece.size());
      if (rest_.empty()) {
        send(piece);
        continue;
      }
      llvm::append_range(rest_, piece);
      sendRest();
    }
    llvm::append_range(rest_, bytes);
  }

  /// Appends zeros up to an offset.
  void fillTo(uint64_t offset) {
    static const char zeros[64] = {};
    while (end() < offset)
      append(ArrayRef(zeros).take_front(offset - end()));
  }
  void align() { fillTo(aligned(end())); }

  /// Aligns the file and begins another section.
  uint64_t beginSection() {
    align();
    endSection();
    return end();
  }
  /// Ends a section and returns its hash.
  uint64_t endSection() {
    sendRest();
    return std::exchange(hash_, {}).finish();
  }

private:
  void sendRest() {
    send(rest_);
    rest_.clear();
  }

  void send(ArrayRef<char> piece) {
    hash_.add(reinterpret_cast<const uint8_t *>(piece.data()), piece.size());
    isWhole_ = isWhole_ && (piece.empty() || sink_(sent_, piece));
    sent_ += piece.size();
  }

  const ArtifactSink &sink_;
  uint64_t sent_; // the end of the bytes that were passed on
  Bytes rest_;    // the bytes after it
  fb::BytesHash hash_;
  bool isWhole_ = true;
};

/// The position of each section in the file, which is known once all are
/// written.
class Sections {
public:
  unsigned add() {
    places_.emplace_back();
    return places_.size() - 1;
  }

  /// Writes a section with the bytes that `append` appends.
  void write(unsigned index, Output &file,
             llvm::function_ref<void(Output &)> append) {
    uint64_t begin = file.beginSection();
    append(file);
    uint64_t size = file.end() - begin;
    places_[index] = {size ? begin : 0, size, file.endSection()};
  }

  flatbuffers::Offset<fb::Section>
  describe(flatbuffers::FlatBufferBuilder &builder, unsigned index) const {
    const Place &place = places_[index];
    return fb::CreateSection(builder, place.offset, place.size, place.hash);
  }

private:
  struct Place {
    uint64_t offset = 0, size = 0, hash = 0;
  };
  std::vector<Place> places_;
};

class Writer {
public:
  explicit Writer(const ArtifactParts &parts) : parts_(parts) {}

  /// The size of the header does not depend on the sections' contents, so it is
  /// built once to reserve its space, and again when they are written.
  llvm::Error run(const ArtifactSink &sink) {
    addSections();
    size_t size = buildHeader().size();
    Output file(sink, aligned(size));
    writeSections(file);
    file.beginSection(); // There is none, but this is where the file ends.
    Bytes header = buildHeader();
    if (header.size() != size)
      return llvm::createStringError(
          "artifact header changed its size from %zu to %zu", size,
          header.size());
    header.resize(aligned(size));
    if (!file.isWhole() || !sink(0, header))
      return llvm::createStringError("the artifact cannot be written");
    return llvm::Error::success();
  }

private:
  void addSections() {
    auto states = program().getBody().getOps<StateOp>();
    initial_.resize(llvm::range_size(states));
    constants_ = sections_.add();
    weights_ = sections_.add();
    carried_ = sections_.add();
    for (const TargetPlan &plan : parts_.plans) {
      std::vector<unsigned> &sections = code_.emplace_back();
      for (size_t code = 0; code < codesOf(plan).size(); ++code)
        sections.push_back(sections_.add());
      signatures_.push_back(sections_.add());
    }
  }

  void writeSections(Output &file) {
    sections_.write(constants_, file,
                    [&](Output &out) { appendConstants(out); });
    sections_.write(weights_, file, [&](Output &out) { appendWeights(out); });
    sections_.write(carried_, file,
                    [&](Output &out) { out.append(parts_.carried); });
    for (auto [index, plan] : llvm::enumerate(parts_.plans)) {
      for (auto [section, code] : llvm::zip_equal(code_[index], codesOf(plan)))
        sections_.write(section, file, [&](Output &out) { out.append(code); });
      sections_.write(signatures_[index], file,
                      [&](Output &out) { out.append(codeHeader(plan)); });
    }
  }

  /// Appends the initial values of states. A value is erased from the program
  /// after the last state that shares its bytes.
  void appendWeights(Output &file) {
    uint64_t begin = file.end();
    auto states = program().getBody().getOps<StateOp>();
    DenseMap<const void *, StateOp> last;
    for (StateOp state : states)
      last[holderOf(state.getValueAttr())] = state;
    for (auto [index, state] : llvm::enumerate(states)) {
      if (uniformValue(state))
        continue;
      file.align();
      initial_[index] = file.end() - begin;
      visitInitialBytes(state, parts_.seed,
                        [&](ArrayRef<char> bytes) { file.append(bytes); });
      if (last.at(holderOf(state.getValueAttr())) == state)
        giveBackValues(state.getValueAttr());
    }
  }

  void appendConstants(Output &file) const {
    uint64_t begin = file.end();
    for (DenseElementsAttr constant : parts_.constants.order) {
      file.fillTo(begin + parts_.constants.offsets.lookup(constant));
      appendElements(file, constant);
    }
    file.fillTo(begin + parts_.constants.bytes);
  }

  /// Appends the elements; a boolean is one byte, other types are stored as
  /// they are.
  static void appendElements(Output &file, DenseElementsAttr constant) {
    if (constant.getElementType().isInteger(1))
      return file.append(
          Bytes(constant.value_begin<bool>(), constant.value_end<bool>()));
    ArrayRef<char> raw = constant.getRawData();
    if (!constant.isSplat())
      return file.append(raw);
    uint64_t bytes = constant.getNumElements() * raw.size();
    Bytes copies;
    while (copies.size() + raw.size() <= std::min<uint64_t>(kPiece, bytes))
      llvm::append_range(copies, raw);
    uint64_t end = file.end() + bytes;
    while (file.end() < end)
      file.append(ArrayRef(copies).take_front(end - file.end()));
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
    auto carried = writeCarried(builder);
    auto header = fb::CreateHeader(
        builder, fb::kVersion, /*header_hash=*/1, producer, name, recipe,
        states, graphs, schedules, plans, constants, weights, parts_.classes,
        parts_.deterministic, carried, logicalRanksOf(program()),
        ranksOf(program()));
    builder.FinishSizePrefixed(header, fb::HeaderIdentifier());
    fb::sealHeader(builder.GetBufferPointer(), builder.GetSize());
    const char *data =
        reinterpret_cast<const char *>(builder.GetBufferPointer());
    return Bytes(data, data + builder.GetSize());
  }

  flatbuffers::Offset<fb::Program>
  writeCarried(flatbuffers::FlatBufferBuilder &builder) const {
    if (parts_.carried.empty())
      return {};
    auto compiler = builder.CreateString(compilerName());
    return fb::CreateProgram(builder, compiler,
                             sections_.describe(builder, carried_));
  }

  template <typename Table>
  using List =
      flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<Table>>>;

  List<fb::State> writeStates(flatbuffers::FlatBufferBuilder &builder) {
    std::vector<flatbuffers::Offset<fb::State>> states;
    for (auto [index, state] :
         llvm::enumerate(program().getBody().getOps<StateOp>())) {
      std::optional<double> fill = uniformValue(state);
      auto [minimum, limit] = rangeOf(state);
      states.push_back(fb::CreateState(
          builder, builder.CreateString(state.getSymName().str()),
          writeType(builder, state.getType()), roleOf(state), !fill.has_value(),
          initial_[index], fill.value_or(0), minimum, limit,
          state.getDiffersAlong().has_value(), wholeOf(builder, state)));
    }
    return builder.CreateVector(states);
  }

  /// The tensor that a state is a rank's part of, if it is one.
  static flatbuffers::Offset<fb::TensorType>
  wholeOf(flatbuffers::FlatBufferBuilder &builder, StateOp state) {
    auto whole = state->getAttrOfType<TypeAttr>(kPartOf);
    return whole ? writeType(builder, whole.getValue())
                 : flatbuffers::Offset<fb::TensorType>();
  }

  static std::pair<double, double> rangeOf(StateOp state) {
    auto range = state->getAttrOfType<DenseF64ArrayAttr>(kRange);
    if (range && range.size() == 2)
      return {range[0], range[1]};
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return {-infinity, infinity};
  }

  static fb::Role roleOf(StateOp state) {
    if (state->hasAttr("copy")) // passes/update/store_rounded_weights.cpp
      return fb::Role::copy;
    if (state->hasAttr(kFixed))
      return fb::Role::fixed;
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
      // In the dialect the last variant that fits runs, in the file the first.
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
    LaunchTraffic traffic(plan.target.model.gpu);
    for (auto [number, memory] : llvm::enumerate(plan.program->memory)) {
      CommandWriter commands(builder, *plan.program, parts_.states, number,
                             buffers, tuning, traffic);
      graphs.push_back(commands.run());
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
  std::vector<uint64_t> initial_; // of each state's initial value
  unsigned constants_ = 0, weights_ = 0, carried_ = 0;
  std::vector<std::vector<unsigned>> code_; // of each plan
  std::vector<unsigned> signatures_;        // one a plan
};

/// An estimate of the size of the sections that is seldom too small: while a
/// file in memory grows there are two copies of it.
size_t mostBytes(const ArtifactParts &parts) {
  constexpr size_t kSignature = 4096; // of a kernel
  size_t bytes = parts.constants.bytes + parts.states.bytes;
  for (const TargetPlan &plan : parts.plans)
    bytes += plan.codeBytes() + plan.program->kernels.size() * kSignature;
  return bytes + bytes / 64;
}

} // namespace

llvm::Error gradus::writeArtifact(const ArtifactParts &parts,
                                  const ArtifactSink &sink) {
  return Writer(parts).run(sink);
}

llvm::Expected<Bytes> gradus::writeArtifact(const ArtifactParts &parts) {
  Bytes file;
  file.reserve(mostBytes(parts));
  auto put = [&](uint64_t offset, ArrayRef<char> bytes) {
    file.resize(std::max<size_t>(file.size(), offset + bytes.size()));
    llvm::copy(bytes, file.begin() + offset);
    return true;
  };
  if (llvm::Error error = writeArtifact(parts, put))
    return std::move(error);
  return file;
}
