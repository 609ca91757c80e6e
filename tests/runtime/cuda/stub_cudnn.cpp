// A library with the names of cuDNN, which writes down each descriptor that is
// finalized, and has engines of its own; or of another version, or without a
// GPU.

#include "runtime/cuda/libraries/cudnn_library.h"

#include "stub_record.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::cudnn;

#ifndef GRADUS_LIBRARY_VERSION
#define GRADUS_LIBRARY_VERSION 91800
#endif

namespace {

/// The engines of this library, best first; the last is one of the fallback.
struct Engine {
  int64_t index;
  std::vector<NumericalNote> notes;
  std::vector<std::pair<KnobType, int64_t>> knobs;
  int64_t workspace; // -1: cannot be built
  bool hasNotes = true;
};
const std::vector<Engine> kEngines = {
    {6, {}, {}, 0, false},
    {7, {NumericalNote::notDeterministic}, {}, 0},
    {8, {NumericalNote::tensorCore}, {{KnobType(2), 3}, {KnobType(5), -4}}, 0},
    {9, {NumericalNote::inputsRounded}, {}, 0},
    {10, {NumericalNote::fourier}, {}, 0},
    {11, {NumericalNote::winogradOf6x6}, {}, 0},
    {12, {NumericalNote::winogradOf13x13}, {}, 0},
    {3, {NumericalNote(6)}, {}, 5000}, // Winograd's tiles of 4 x 4
    {4, {}, {}, -1},
    {5, {}, {}, 1000},
    {1, {}, {}, 2000}};

struct Values {
  ValueType type;
  std::vector<char> bytes;
  int64_t count;
};

struct Data {
  Kind kind;
  std::map<Attribute, Values> values;
  const Engine *engine = nullptr; // of engines, configurations and plans

  template <typename T> T first(Attribute attribute) const {
    T value;
    std::memcpy(&value, values.at(attribute).bytes.data(), sizeof(value));
    return value;
  }
};

size_t bytesOf(ValueType type) {
  switch (type) {
  case ValueType::handle:
  case ValueType::int64:
  case ValueType::pointer:
  case ValueType::descriptor:
    return 8;
  case ValueType::boolean:
  case ValueType::character:
    return 1;
  default:
    return 4;
  }
}

Data &dataOf(RawDescriptor descriptor) {
  return *static_cast<Data *>(descriptor);
}

/// "3", "-inf", "tensor 2", "kind 18", or the text of characters.
std::string toText(const Values &values, int64_t i) {
  const char *at = values.bytes.data() + i * int64_t(bytesOf(values.type));
  auto read = [&](auto value) {
    std::memcpy(&value, at, sizeof(value));
    return value;
  };
  switch (values.type) {
  case ValueType::boolean:
    return std::to_string(*at);
  case ValueType::character:
    return std::string(1, *at);
  case ValueType::float32: {
    char text[32];
    std::snprintf(text, sizeof(text), "%g", double(read(float())));
    return text;
  }
  case ValueType::descriptor: {
    const Data &data = dataOf(read(RawDescriptor()));
    return data.kind == Kind::tensor
               ? inWords("tensor ", data.first<int64_t>(Attribute::tensorId))
               : inWords("kind ", int(data.kind));
  }
  default:
    return bytesOf(values.type) == 8 ? std::to_string(read(int64_t()))
                                     : std::to_string(read(int32_t()));
  }
}

/// "17: 901=9, 902=1 2"
void write(const Data &data) {
  append(written, int(data.kind), ":");
  for (const auto &[attribute, values] : data.values) {
    append(written, " ", int(attribute), "=");
    for (int64_t i = 0; i < values.count; ++i)
      append(written, i ? "," : "", toText(values, i));
  }
  written += "\n";
}

const Engine *engineOf(int64_t index) {
  for (const Engine &engine : kEngines)
    if (engine.index == index)
      return &engine;
  return nullptr;
}

/// Numbers of `from` as they are, at most so many.
template <typename T>
Code give(const std::vector<T> &from, int64_t most, int64_t *count, void *to) {
  *count = int64_t(from.size());
  if (most > 0 && !from.empty())
    std::memcpy(to, from.data(), size_t(std::min(most, *count)) * sizeof(T));
  return Code::success;
}

/// Descriptors that the caller made become those of `engines`.
Code give(const std::vector<const Engine *> &engines, int64_t most,
          int64_t *count, void *to) {
  *count = std::min(most, int64_t(engines.size()));
  for (int64_t i = 0; i < *count; ++i)
    dataOf(static_cast<RawDescriptor *>(to)[i]).engine = engines[size_t(i)];
  return Code::success;
}

} // namespace

extern "C" {

size_t cudnnGetVersion() { return GRADUS_LIBRARY_VERSION; }

const char *cudnnGetErrorString(Code code) {
  return code == Code::notInitialized ? "CUDNN_STATUS_NOT_INITIALIZED"
                                      : "CUDNN_STATUS_NOT_SUPPORTED";
}

void cudnnGetLastErrorString(char *words, size_t bytes) {
  std::snprintf(words, bytes, "the stub's words\n");
}

Code cudnnCreate(Handle *handle) {
#ifdef GRADUS_LIBRARY_WITHOUT_GPU
  return Code::notInitialized;
#else
  *handle = reinterpret_cast<Handle>(&written);
  written += "create\n";
  return Code::success;
#endif
}

Code cudnnDestroy(Handle) {
  written += "destroy\n";
  return Code::success;
}

Code cudnnSetStream(Handle, Stream stream) {
  append(written, "stream ", reinterpret_cast<uintptr_t>(stream), "\n");
  return Code::success;
}

Code cudnnBackendCreateDescriptor(Kind kind, RawDescriptor *descriptor) {
  *descriptor = new Data{kind, {}};
  return Code::success;
}

Code cudnnBackendDestroyDescriptor(RawDescriptor descriptor) {
  delete &dataOf(descriptor);
  return Code::success;
}

Code cudnnBackendSetAttribute(RawDescriptor descriptor, Attribute attribute,
                              ValueType type, int64_t count,
                              const void *values) {
  const char *bytes = static_cast<const char *>(values);
  dataOf(descriptor).values[attribute] = {
      type, {bytes, bytes + count * int64_t(bytesOf(type))}, count};
  return Code::success;
}

Code cudnnBackendFinalize(RawDescriptor descriptor) {
  Data &data = dataOf(descriptor);
  if (data.kind == Kind::engine)
    data.engine = engineOf(data.first<int64_t>(Attribute::engineIndex));
  if (data.kind == Kind::engineConfig)
    data.engine =
        dataOf(data.first<RawDescriptor>(Attribute::configEngine)).engine;
  if (data.kind == Kind::executionPlan)
    data.engine =
        dataOf(data.first<RawDescriptor>(Attribute::planConfig)).engine;
  bool isPlan = data.kind == Kind::executionPlan;
  if ((isPlan && data.engine->workspace < 0) ||
      (data.kind == Kind::engine && !data.engine))
    return Code::notSupported;
  // Where it takes an engine: the tests look at which.
  if (isPlan)
    append(written, "plan of engine ", data.engine->index, "\n");
  else if (data.kind != Kind::heuristics)
    write(data);
  return Code::success;
}

Code cudnnBackendGetAttribute(RawDescriptor descriptor, Attribute attribute,
                              ValueType, int64_t most, int64_t *count,
                              void *values) {
  const Data &data = dataOf(descriptor);
  const Engine *engine = data.engine;
  std::vector<const Engine *> all;
  switch (attribute) {
  case Attribute::heuristicsResults: {
    bool isBest = data.first<HeuristicMode>(Attribute::heuristicsMode) ==
                  HeuristicMode::best;
    size_t split = kEngines.size() - 1;
    for (size_t i = 0; i < kEngines.size(); ++i)
      if ((i < split) == isBest)
        all.push_back(&kEngines[i]);
    return give(all, most, count, values);
  }
  case Attribute::configEngine:
    return give({engine}, most, count, values);
  case Attribute::engineIndex:
    return give(std::vector{engine->index}, most, count, values);
  case Attribute::configWorkspace:
    return GRADUS_LIBRARY_VERSION < 90200
               ? Code::notSupported
               : give(std::vector{std::max(engine->workspace, int64_t())}, most,
                      count, values);
  case Attribute::engineNumericalNotes:
    if (!engine->hasNotes)
      return Code::notSupported;
    return give(engine->notes, most, count, values);
  case Attribute::planWorkspace:
    return give(std::vector{engine->workspace}, most, count, values);
  case Attribute::configKnobs:
    *count = int64_t(engine->knobs.size());
    for (size_t i = 0; i < engine->knobs.size(); ++i) {
      RawDescriptor knob = static_cast<RawDescriptor *>(values)[i];
      cudnnBackendSetAttribute(knob, Attribute::knobType, ValueType::knobType,
                               1, &engine->knobs[i].first);
      cudnnBackendSetAttribute(knob, Attribute::knobValue, ValueType::int64, 1,
                               &engine->knobs[i].second);
    }
    return Code::success;
  case Attribute::knobType:
    return give(std::vector{data.first<KnobType>(attribute)}, most, count,
                values);
  case Attribute::knobValue:
    return give(std::vector{data.first<int64_t>(attribute)}, most, count,
                values);
  default:
    return Code::badParameter;
  }
}

Code cudnnBackendExecute(Handle, RawDescriptor plan, RawDescriptor) {
  append(written, "execute by engine ", dataOf(plan).engine->index, "\n");
  return Code::success;
}
}

// As runtime/cuda/libraries/cudnn.def has them.
#define GRADUS_CUDNN(name, symbol, gives, parameters)                          \
  static_assert(std::is_same_v<decltype(Library::name), decltype(&::symbol)>);
#include "runtime/cuda/libraries/cudnn.def"
