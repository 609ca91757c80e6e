// A program compiled and run, and evaluated, from the same state. For tests.

#include "compiled.h"

#include "ir/philox.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace gradus;

ModuleText::ModuleText(StringRef text) {
  DialectRegistry registry;
  registerDialects(registry);
  registry.insert<plan::PlanDialect>();
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << "the program does not parse";
}

//===-- numbers -----------------------------------------------------------===//

template <typename Number>
static void store(std::vector<char> &bytes, double real, int64_t integer,
                  bool isFloat) {
  Number number =
      isFloat ? static_cast<Number>(real) : static_cast<Number>(integer);
  const char *raw = reinterpret_cast<const char *>(&number);
  bytes.insert(bytes.end(), raw, raw + sizeof(number));
}

std::vector<char> gradus::packed(const HostTensor &tensor,
                                 const runtime::TensorType &type) {
  std::vector<char> bytes;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    double real = tensor.isFloat ? tensor.floats[i] : 0;
    int64_t integer = tensor.isFloat ? 0 : tensor.integers[i];
    switch (type.dtype) {
    case artifact::DType::f32:
      store<float>(bytes, real, integer, tensor.isFloat);
      break;
    case artifact::DType::f64:
      store<double>(bytes, real, integer, tensor.isFloat);
      break;
    case artifact::DType::bf16: // Test inputs of this type are exact in it.
      store<uint16_t>(bytes, 0,
                      std::bit_cast<uint32_t>(static_cast<float>(real)) >> 16,
                      false);
      break;
    case artifact::DType::i32:
      store<int32_t>(bytes, real, integer, tensor.isFloat);
      break;
    case artifact::DType::i64:
      store<int64_t>(bytes, real, integer, tensor.isFloat);
      break;
    default:
      store<int8_t>(bytes, real, integer, tensor.isFloat);
    }
  }
  return bytes;
}

template <typename Number>
static Number load(const void *bytes, int64_t index) {
  Number number;
  std::memcpy(&number,
              static_cast<const char *>(bytes) + index * sizeof(Number),
              sizeof(Number));
  return number;
}

HostTensor gradus::unpacked(const void *bytes,
                            const runtime::TensorType &type) {
  bool isFloat = type.dtype == artifact::DType::f32 ||
                 type.dtype == artifact::DType::f64 ||
                 type.dtype == artifact::DType::f16 ||
                 type.dtype == artifact::DType::bf16;
  HostTensor tensor =
      zeros(ArrayRef<int64_t>(type.shape.data(), type.shape.size()), isFloat);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (type.dtype == artifact::DType::f32)
      tensor.floats[i] = load<float>(bytes, i);
    else if (type.dtype == artifact::DType::f64)
      tensor.floats[i] = load<double>(bytes, i);
    else if (type.dtype == artifact::DType::f16)
      tensor.floats[i] = load<_Float16>(bytes, i);
    else if (type.dtype == artifact::DType::bf16)
      tensor.floats[i] =
          std::bit_cast<float>(uint32_t(load<uint16_t>(bytes, i)) << 16);
    else if (type.dtype == artifact::DType::i64)
      tensor.integers[i] = load<int64_t>(bytes, i);
    else if (type.dtype == artifact::DType::i32)
      tensor.integers[i] = load<int32_t>(bytes, i);
    else
      tensor.integers[i] = load<int8_t>(bytes, i);
  }
  return tensor;
}

HostTensor gradus::randomTensor(RankedTensorType type, uint64_t seed,
                                int64_t classes) {
  HostTensor tensor = zeros(type);
  Philox stream(seed, "test");
  for (int64_t i = 0; i < tensor.size(); ++i)
    if (tensor.isFloat) // Rounded, so that both sides start from equal numbers.
      tensor.floats[i] = static_cast<float>(stream.uniform(i) * 2 - 1);
    else
      tensor.integers[i] = static_cast<int64_t>(stream.uniform(i) * classes);
  return tensor;
}

//===-- compiled ----------------------------------------------------------===//

std::vector<char> gradus::artifactOf(StringRef text,
                                     const std::string &target) {
  ModuleText module(text);
  CompileOptions options;
  options.targets = {target};
  auto bytes = compileProgram(*module.module, options);
  if (bytes)
    return std::move(*bytes);
  ADD_FAILURE() << llvm::toString(bytes.takeError());
  return {};
}

Compiled::Compiled(StringRef text, runtime::SessionOptions options)
    : Compiled(artifactOf(text, options.device), options) {}

Compiled::Compiled(std::vector<char> bytes, runtime::SessionOptions options)
    : bytes_(std::move(bytes)) {
  if (!bytes_.empty())
    open(options);
}

void Compiled::open(runtime::SessionOptions options) {
  auto artifact = runtime::Artifact::fromBytes(
      {reinterpret_cast<const uint8_t *>(bytes_.data()), bytes_.size()},
      "test");
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  auto session = runtime::Session::create(*artifact, options);
  ASSERT_TRUE(session.ok()) << session.status();
  session_ = std::move(*session);
}

NamedTensors Compiled::run(const std::string &name,
                           const NamedTensors &inputs) {
  int graph = ok() ? session_->findGraph(name) : -1;
  EXPECT_GE(graph, 0) << name;
  if (graph < 0)
    return {};
  const runtime::GraphInfo &info = session_->graphs()[graph];
  for (size_t i = 0; i < info.inputs.size(); ++i) {
    auto bytes = packed(inputs.at(info.inputs[i].name), info.inputs[i].type);
    std::memcpy(session_->inputBuffer(graph, i), bytes.data(), bytes.size());
  }
  runtime::Status status = session_->step(graph);
  EXPECT_TRUE(status.ok()) << status;
  NamedTensors outputs;
  for (size_t i = 0; i < info.outputs.size(); ++i)
    outputs[info.outputs[i].name] =
        unpacked(session_->outputBuffer(graph, i), info.outputs[i].type);
  return outputs;
}

NamedTensors Compiled::states() const {
  NamedTensors states;
  for (size_t i = 0; ok() && i < session_->states().size(); ++i)
    states[session_->states()[i].name] =
        unpacked(session_->stateBytes(i)->data(), session_->states()[i].type);
  return states;
}

void Compiled::setState(const std::string &name, const HostTensor &value) {
  int state = ok() ? session_->findState(name) : -1;
  ASSERT_GE(state, 0) << name;
  auto bytes = packed(value, session_->states()[state].type);
  ASSERT_TRUE(session_->writeState(name, bytes.data(), bytes.size()).ok());
}

//===-- evaluated ---------------------------------------------------------===//

HostTensor gradus::startOf(StateOp state) {
  HostTensor tensor = zeros(cast<RankedTensorType>(state.getType()));
  if (state.getRole() == Role::hyperparameter && state.getInit() &&
      state.getInit()->getValue())
    tensor.floats.assign(tensor.floats.size(),
                         state.getInit()->getValue().getValueAsDouble());
  return tensor;
}

Evaluated::Evaluated(StringRef text) : text_(text) {
  EXPECT_TRUE(succeeded(runStages(*text_.module, "optimize")));
  for (auto state : text_.program().getBody().getOps<StateOp>())
    states_[state.getSymName()] = startOf(state);
}

NamedTensors Evaluated::run(const std::string &name,
                            const NamedTensors &inputs) {
  GraphOp graph = text_.program().getGraph(name);
  // As the runtime does when weights come from outside.
  if (GraphOp copies = text_.program().getGraph("round_weights"))
    EXPECT_TRUE(succeeded(evaluateGraph(copies, {}, states_)));
  SmallVector<HostTensor> values;
  for (unsigned i = 0; i < graph.getInputNames().size(); ++i)
    values.push_back(inputs.at(graph.getInputName(i).str()));
  auto results = evaluateGraph(graph, values, states_);
  NamedTensors outputs;
  EXPECT_TRUE(succeeded(results));
  if (succeeded(results))
    for (unsigned i = 0; i < results->size(); ++i)
      outputs[graph.getOutputName(i).str()] = (*results)[i];
  return outputs;
}

NamedTensors Evaluated::states() const {
  NamedTensors states;
  for (const auto &entry : states_)
    states[entry.getKey().str()] = entry.getValue();
  return states;
}

void Evaluated::setState(const std::string &name, const HostTensor &value) {
  states_[name] = value;
}

//===-- comparison --------------------------------------------------------===//

void gradus::expectNear(const NamedTensors &found, const NamedTensors &expected,
                        double relative, double absolute) {
  for (const auto &[name, want] : expected) {
    auto entry = found.find(name);
    ASSERT_NE(entry, found.end()) << name << " is missing";
    const HostTensor &have = entry->second;
    ASSERT_EQ(have.size(), want.size()) << name;
    double worst = -1;
    int64_t at = 0;
    for (int64_t i = 0; i < want.size(); ++i) {
      double a = have.isFloat ? have.floats[i] : have.integers[i];
      double b = want.isFloat ? want.floats[i] : want.integers[i];
      double excess = std::abs(a - b) - (absolute + relative * std::abs(b));
      if (excess > worst || std::isnan(a) != std::isnan(b)) {
        worst = std::isnan(a) != std::isnan(b) ? INFINITY : excess;
        at = i;
      }
    }
    EXPECT_LE(worst, 0) << name << "[" << at << "] is "
                        << (have.isFloat ? have.floats[at] : have.integers[at])
                        << ", expected "
                        << (want.isFloat ? want.floats[at] : want.integers[at]);
  }
}
