// Generates data from hashes of an input's name and each element's index.

#include "tool/session/synthetic_inputs.h"

#include "runtime/artifact_hash.h"
#include "runtime/well_known.h"
#include "tool/session/session_options.h"
#include "training/data/shuffle.h"

#include <algorithm>
#include <cstring>

using namespace gradus::runtime;

namespace gradus::cli {

template <typename T>
static void fill(std::vector<uint8_t> &bytes, auto value) {
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T element = value(i);
    std::memcpy(&bytes[i * sizeof(T)], &element, sizeof(T));
  }
}

/// A function from an index to [0, 1), in 24 bits, which f32 holds exactly.
static auto fractionsOf(const std::string &name) {
  uint64_t seed = artifact::hashBytes(
      reinterpret_cast<const uint8_t *>(name.data()), name.size());
  return [seed](size_t i) {
    return static_cast<double>(data::drawOf(seed, 0, i) >> 40) / (1 << 24);
  };
}

std::vector<uint8_t> syntheticInput(const TensorInfo &input, int64_t classes,
                                    int64_t batch) {
  std::vector<uint8_t> bytes(input.bytes);
  const std::vector<int64_t> &shape = input.type.shape;
  bool isCount = input.name == "count" && shape.empty();
  int64_t limit = input.indices;
  if (!limit && input.name == well_known::kLabel)
    limit = std::max<int64_t>(classes, 1);
  auto fraction = fractionsOf(input.name);
  auto mask = [&](size_t i) -> int64_t {
    return shape.size() < 2 || i % shape.back() == 0 || fraction(i) < 0.75;
  };
  auto integer = [&](size_t i) -> int64_t {
    if (isCount)
      return batch;
    return limit ? static_cast<int64_t>(fraction(i) * limit) : mask(i);
  };
  switch (input.type.dtype) {
  case DType::f32:
    fill<float>(bytes, fraction);
    break;
  case DType::f64:
    fill<double>(bytes, fraction);
    break;
  case DType::i64:
    fill<int64_t>(bytes, integer);
    break;
  case DType::i32:
    fill<int32_t>(bytes, integer);
    break;
  case DType::boolean:
    fill<uint8_t>(bytes, mask);
    break;
  default: // zeros are valid in every other type
    break;
  }
  return bytes;
}

std::vector<std::vector<uint8_t>> syntheticInputs(const Session &session,
                                                  int graph) {
  const std::vector<TensorInfo> &inputs = session.graphs()[graph].inputs;
  int64_t batch = 1;
  for (const TensorInfo &input : inputs)
    if (!input.type.shape.empty())
      batch = std::max(batch, input.type.shape[0]);
  std::vector<std::vector<uint8_t>> all;
  for (const TensorInfo &input : inputs)
    all.push_back(
        syntheticInput(input, session.artifact().header().classes(), batch));
  return all;
}

Status runStep(Session &session, int graph, std::span<const void *const> inputs,
               std::span<void *const> outputs) {
  Status status;
  for (int64_t left = callsPerStep(session, graph); left && status.ok(); --left)
    status = session.step(graph, inputs, outputs);
  return status;
}

} // namespace gradus::cli
