// The test artifact: its tables, its machine code, and writing it.

#include "test_artifact.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace gradus::test {

using namespace artifact;

namespace {

/// buffers[2][i] = buffers[0][i] + buffers[1][i] for i in [begin, end); at 38:
/// ++*buffers[0].
constexpr uint8_t kCode[] = {
    0x48, 0x8b, 0x07,                   //    mov    rax, [rdi]
    0x48, 0x8b, 0x4f, 0x08,             //    mov    rcx, [rdi+8]
    0x4c, 0x8b, 0x47, 0x10,             //    mov    r8, [rdi+16]
    0x48, 0x39, 0xd6,                   // 1: cmp    rsi, rdx
    0x7d, 0x15,                         //    jge    2
    0xf3, 0x0f, 0x10, 0x04, 0xb0,       //    movss  xmm0, [rax+rsi*4]
    0xf3, 0x0f, 0x58, 0x04, 0xb1,       //    addss  xmm0, [rcx+rsi*4]
    0xf3, 0x41, 0x0f, 0x11, 0x04, 0xb0, //    movss  [r8+rsi*4], xmm0
    0x48, 0xff, 0xc6,                   //    inc    rsi
    0xeb, 0xe6,                         //    jmp    1
    0xc3,                               // 2: ret
    0x48, 0x8b, 0x07,                   //    mov    rax, [rdi]
    0x48, 0xff, 0x00,                   //    inc    qword ptr [rax]
    0xc3,                               //    ret
};

TensorTypeT type(DType dtype, std::vector<int64_t> shape) {
  TensorTypeT made;
  made.dtype = dtype;
  made.shape = std::move(shape);
  return made;
}

template <typename Table> std::unique_ptr<Table> owned(Table table) {
  return std::make_unique<Table>(std::move(table));
}

std::unique_ptr<PortT> port(const char *name) {
  PortT made;
  made.name = name;
  made.type = owned(type(DType::f32, {kSize}));
  return owned(std::move(made));
}

std::unique_ptr<StateT> state(const char *name, Role role, TensorTypeT of) {
  StateT made;
  made.name = name;
  made.role = role;
  made.type = owned(std::move(of));
  return owned(std::move(made));
}

std::unique_ptr<BufferT> buffer(Region region, uint64_t offset, TensorTypeT of,
                                uint64_t size) {
  BufferT made;
  made.region = region;
  made.offset = offset;
  made.size = size;
  made.type = owned(std::move(of));
  return owned(std::move(made));
}

std::unique_ptr<KernelSignatureT> kernel(const char *name, uint64_t entry,
                                         size_t arguments, uint64_t fixed,
                                         uint64_t perItem, int64_t most) {
  KernelSignatureT made;
  made.name = name;
  made.entry = entry;
  made.fixed_bytes.assign(arguments, fixed);
  made.bytes_per_item.assign(arguments, perItem);
  made.max_items = most;
  made.outputs = 1;
  return owned(std::move(made));
}

std::unique_ptr<SegmentT> segment(std::vector<uint32_t> buffers,
                                  int64_t items) {
  SegmentT made;
  made.buffers = std::move(buffers);
  made.items = items;
  return owned(std::move(made));
}

KernelCommandT call(uint32_t kernel, int64_t grain) {
  KernelCommandT made;
  made.kernel = kernel;
  made.grain = grain;
  return made;
}

void addFloats(std::vector<uint8_t> &bytes, float first) {
  for (int64_t i = 0; i < kSize; ++i) {
    float value = first + static_cast<float>(i);
    auto *raw = reinterpret_cast<const uint8_t *>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof(value));
  }
}

void addProgram(TestArtifact &artifact) {
  HeaderT &header = artifact.header;
  header.version = kVersion;
  header.producer = "test";
  header.name = "adder";
  header.recipe = "{}";
  header.states.push_back(
      state("total", Role::parameter, type(DType::f32, {kSize})));
  header.states.back()->has_initial = true;
  header.states.push_back(
      state("scale", Role::buffer, type(DType::bf16, {2, 2})));
  header.states.back()->fill = 1;
  header.states.push_back(state("step", Role::counter, type(DType::i64, {})));
  for (const char *name : {"train", "evaluate"}) {
    GraphT graph;
    graph.name = name;
    if (std::string(name) == "train")
      graph.inputs.push_back(port("x"));
    graph.outputs.push_back(port("sum"));
    if (std::string(name) == "train")
      graph.outputs.push_back(port("shifted"));
    header.graphs.push_back(owned(std::move(graph)));
  }
}

void addMemory(PlanT &plan) {
  plan.state_offsets = {0, 64, 128};
  plan.state_bytes = 192;
  plan.arena_bytes = 256;
  TensorTypeT floats = type(DType::f32, {kSize});
  plan.buffers.push_back(buffer(Region::state, 0, floats, 32));
  plan.buffers.push_back(
      buffer(Region::state, 64, type(DType::bf16, {2, 2}), 8));
  plan.buffers.push_back(buffer(Region::state, 128, type(DType::i64, {}), 8));
  plan.buffers.push_back(buffer(Region::arena, 0, floats, 32));
  plan.buffers.push_back(buffer(Region::arena, 64, floats, 32));
  plan.buffers.push_back(buffer(Region::arena, 128, floats, 32));
  plan.buffers.push_back(buffer(Region::constants, 0, floats, 32));
  plan.buffers.push_back(buffer(Region::arena, 192, type(DType::u8, {64}), 64));
}

void addCommands(TestArtifact &artifact) {
  KernelCommandT sum = call(0, 3); // three blocks: 3 + 3 + 2 items
  sum.segments.push_back(segment({kTotal, kX, kTotal}, kSize));
  artifact.add("total += x", std::move(sum));
  CopyCommandT copy;
  copy.source = kTotal;
  copy.destination = kSum;
  artifact.add("copy", copy);
  KernelCommandT shift = call(0, 4);
  shift.segments.push_back(segment({kTotal, kConstant, kShifted}, kSize));
  shift.segments.push_back(segment({kSum, kConstant, kScratch}, 5));
  artifact.add("shift x2", std::move(shift));
  KernelCommandT count = call(1, 1);
  count.segments.push_back(segment({kStep}, 1));
  artifact.add("count", std::move(count));
  artifact.command(0).nodes = {"/add", "/more"};
  artifact.command(0).flops = kSize;
  artifact.command(0).bytes = 96;
}

void addEvaluate(PlanT &plan) {
  GraphPlanT evaluate;
  evaluate.graph = 1;
  evaluate.outputs = {kSum};
  CopyCommandT copy;
  copy.source = kTotal;
  copy.destination = kSum;
  auto command = std::make_unique<CommandT>();
  command->kind.Set(copy);
  evaluate.commands.push_back(std::move(command));
  plan.graphs.push_back(owned(std::move(evaluate)));
}

//===-- writing -----------------------------------------------------------===//

struct Layout {
  std::vector<const std::vector<uint8_t> *> contents;
  std::vector<uint64_t> offsets;
};

std::unique_ptr<SectionT> describe(const std::vector<uint8_t> &bytes,
                                   uint64_t offset) {
  SectionT section;
  section.offset = bytes.empty() ? 0 : offset;
  section.size = bytes.size();
  section.hash = hashBytes(bytes.data(), bytes.size());
  return owned(std::move(section));
}

std::vector<uint8_t> buildHeader(HeaderT header, const Layout &layout) {
  auto at = [&](size_t i) {
    return describe(*layout.contents[i], layout.offsets[i]);
  };
  header.header_hash = 1;
  header.constants = at(0);
  header.weights = at(1);
  for (auto &plan : header.plans) {
    if (plan->images.empty())
      plan->code = at(2);
    for (auto &image : plan->images)
      image->code = at(2);
    plan->kernels = at(3);
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  builder.FinishSizePrefixed(Header::Pack(builder, &header),
                             HeaderIdentifier());
  sealHeader(builder.GetBufferPointer(), builder.GetSize());
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

std::vector<uint8_t> buildKernels(const CodeHeaderT &kernels) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(CodeHeader::Pack(builder, &kernels));
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

} // namespace

TestArtifact::TestArtifact() {
  addProgram(*this);
  code.assign(std::begin(kCode), std::end(kCode));
  kernels.kernels.push_back(kernel("add", 0, 3, 0, 4, 0));
  kernels.kernels.push_back(kernel("count", 38, 1, 8, 0, 1));
  addFloats(weights, 0);
  addFloats(constants, 10);
  PlanT made;
  made.target = "cpu:x86-64-v2";
  made.features = {"sse2", "sse4.2"};
  made.threads = 2;
  addMemory(made);
  header.plans.push_back(owned(std::move(made)));
  GraphPlanT train;
  train.inputs = {kX};
  train.outputs = {kSum, kShifted};
  train.bound = 192;
  plan().graphs.push_back(owned(std::move(train)));
  addCommands(*this);
  addEvaluate(plan());
}

uint32_t TestArtifact::addArena(int64_t floats) {
  uint64_t offset = plan().arena_bytes,
           size = static_cast<uint64_t>(floats) * 4;
  plan().buffers.push_back(
      buffer(Region::arena, offset, type(DType::f32, {floats}), size));
  plan().arena_bytes = (offset + size + 63) / 64 * 64;
  return static_cast<uint32_t>(plan().buffers.size() - 1);
}

uint32_t TestArtifact::addState(const char *name, Role role,
                                const TensorTypeT &of, uint64_t bytes) {
  uint64_t offset = plan().state_bytes;
  header.states.push_back(state(name, role, of));
  plan().state_offsets.push_back(offset);
  plan().state_bytes += 64;
  plan().buffers.push_back(buffer(Region::state, offset, of, bytes));
  return static_cast<uint32_t>(plan().buffers.size() - 1);
}

GraphPlanT &TestArtifact::addVariant(const char *name) {
  GraphT graph = *header.graphs[0];
  graph.name = name;
  header.graphs.push_back(owned(std::move(graph)));
  GraphPlanT made = train();
  made.graph = static_cast<uint32_t>(header.graphs.size() - 1);
  plan().graphs.push_back(owned(std::move(made)));
  return *plan().graphs.back();
}

void TestArtifact::addOwn(const char *name, double number) {
  addState(name, Role::slot, type(DType::f32, {1}), 4);
  header.states.back()->fill = number;
  header.states.back()->per_rank = true;
}

void TestArtifact::addNumber(const char *path, double number) {
  addState(path, Role::hyperparameter, type(DType::f64, {}), 8);
  header.states.back()->fill = number;
  header.states.back()->minimum = 0;
  header.states.back()->limit = 10;
}

void TestArtifact::addFixed(double number) {
  addState("rows", Role::fixed, type(DType::f32, {2}), 8);
  header.states.back()->fill = number;
}

void TestArtifact::addTurns() {
  TensorTypeT number = type(DType::i64, {});
  header.logical_ranks = 2;
  uint32_t turn = addState("distribution.turn", Role::place, number, 8),
           rank = addState("distribution.rank", Role::place, number, 8),
           waiting = addState("waiting", Role::scratch,
                              type(DType::f32, {kSize}), 32);
  constants.resize(128 + 8); // the turn and the rank that a step begins with
  constants[64] = 1;
  std::vector<uint32_t> begins;
  for (uint64_t offset : {64, 128}) {
    begins.push_back(static_cast<uint32_t>(plan().buffers.size()));
    plan().buffers.push_back(buffer(Region::constants, offset, number, 8));
  }
  auto copied = [](uint32_t from, uint32_t to) {
    CopyCommandT copy;
    copy.source = from;
    copy.destination = to;
    auto made = std::make_unique<CommandT>();
    made->kind.Set(copy);
    return made;
  };
  auto called = [](uint32_t kernel, std::vector<uint32_t> on, int64_t items) {
    KernelCommandT made = call(kernel, items);
    made.segments.push_back(segment(std::move(on), items));
    auto command = std::make_unique<CommandT>();
    command->kind.Set(std::move(made));
    return command;
  };
  auto &partial = addVariant("train_partial").commands;
  partial.clear();
  partial.push_back(copied(kX, waiting));
  partial.push_back(called(1, {turn}, 1));
  partial.push_back(called(1, {rank}, 1));
  auto &last = addVariant("train_final").commands;
  last.insert(last.begin(), called(0, {kTotal, waiting, kTotal}, kSize));
  last.push_back(copied(begins[0], turn));
  last.push_back(copied(begins[1], rank));
  ScheduleT schedule;
  schedule.graph = "train";
  schedule.counter = "distribution.turn";
  schedule.variants = {2, 0, 3};
  schedule.every = {2, 4, 4};
  schedule.at = {1, 0, 2};
  header.schedules.push_back(owned(std::move(schedule)));
}

PlanT &TestArtifact::addGpuPlan() {
  PlanT made = plan();
  made.target = "cuda";
  made.features.clear();
  for (ImageKind kind :
       {ImageKind::cubin, ImageKind::ptx, ImageKind::emulated}) {
    CodeImageT image;
    image.kind = kind;
    image.architecture = kind == ImageKind::emulated ? "" : "sm_90";
    for (size_t i = 0; i < kernels.kernels.size(); ++i)
      image.kernels.push_back(owned(ImageKernelT()));
    made.images.push_back(owned(std::move(image)));
  }
  for (auto &kernel : kernels.kernels) {
    GpuLaunchT launch;
    launch.threads = 256;
    launch.piece = kernel->max_items ? 0 : 4096;
    launch.most_blocks = kernel->max_items ? 1 : 0;
    kernel->gpu = owned(std::move(launch));
  }
  header.plans.push_back(owned(std::move(made)));
  return *header.plans.back();
}

std::vector<uint8_t> TestArtifact::bytes() const {
  std::vector<uint8_t> kernelBytes;
  if (!kernels.kernels.empty())
    kernelBytes = buildKernels(kernels);
  Layout layout{{&constants, &weights, &code, &kernelBytes},
                std::vector<uint64_t>(4)};
  size_t size = buildHeader(header, layout).size();
  uint64_t end = size;
  for (size_t i = 0; i < layout.contents.size(); ++i) {
    layout.offsets[i] = (end + 63) / 64 * 64;
    end = layout.offsets[i] + layout.contents[i]->size();
  }
  std::vector<uint8_t> file = buildHeader(header, layout);
  for (size_t i = 0; i < layout.contents.size(); ++i) {
    file.resize(layout.offsets[i]);
    file.insert(file.end(), layout.contents[i]->begin(),
                layout.contents[i]->end());
  }
  file.resize((file.size() + 63) / 64 * 64);
  return file;
}

namespace {

struct HashField {
  uint64_t *at;
  uint64_t offset, size;
};

/// The hash of a section that lies within the file.
void addField(const std::vector<uint8_t> &file, Section *section,
              std::vector<HashField> &fields) {
  if (!section || section->offset() > file.size() ||
      section->size() > file.size() - section->offset())
    return;
  auto *table = reinterpret_cast<flatbuffers::Table *>(section);
  if (uint8_t *at = table->GetAddressOf(Section::VT_HASH))
    fields.push_back(
        {reinterpret_cast<uint64_t *>(at), section->offset(), section->size()});
}

bool isReadable(const std::vector<uint8_t> &file, size_t size) {
  flatbuffers::Verifier verifier(file.data(), size);
  return VerifySizePrefixedHeaderBuffer(verifier);
}

} // namespace

void reseal(std::vector<uint8_t> &file) {
  if (file.size() < 12)
    return;
  size_t size =
      flatbuffers::ReadScalar<uint32_t>(file.data()) + sizeof(uint32_t);
  if (size > file.size() || !isReadable(file, size))
    return;
  // Tables of a damaged header may overlap: writing may damage it further.
  std::vector<HashField> fields;
  auto *header =
      flatbuffers::GetMutableRoot<Header>(file.data() + sizeof(uint32_t));
  addField(file, header->mutable_constants(), fields);
  addField(file, header->mutable_weights(), fields);
  if (header->program())
    addField(file, header->mutable_program()->mutable_bytecode(), fields);
  for (size_t i = 0; header->plans() && i < header->plans()->size(); ++i) {
    Plan *plan = header->mutable_plans()->GetMutableObject(i);
    addField(file, plan->mutable_code(), fields);
    addField(file, plan->mutable_kernels(), fields);
    for (size_t k = 0; plan->images() && k < plan->images()->size(); ++k)
      addField(file,
               plan->mutable_images()->GetMutableObject(k)->mutable_code(),
               fields);
  }
  for (const HashField &field : fields)
    *field.at = hashBytes(file.data() + field.offset, field.size);
  if (isReadable(file, size))
    sealHeader(file.data(), size);
}

std::string temporaryPath(const std::string &name) {
  auto folder = std::filesystem::temp_directory_path() /
                ("gradus_runtime_tests." + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  return folder / name;
}

std::string writeFile(const std::vector<uint8_t> &bytes,
                      const std::string &name) {
  std::string path = temporaryPath(name);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return path;
}

} // namespace gradus::test
