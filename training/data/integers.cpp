// One pass over a column before the first step, and one error.

#include "training/data/integers.h"

#include "runtime/status.h"
#include "training/data/guarded_read.h"

#include <algorithm>
#include <cstring>

using namespace gradus::runtime;

namespace gradus::data {

template <typename T> static int64_t load(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return static_cast<int64_t>(value);
}

bool isInteger(DType dtype) {
  return dtype != DType::f32 && dtype != DType::f64 && dtype != DType::f16 &&
         dtype != DType::bf16;
}

int64_t integerAt(const Column &column, size_t index) {
  const uint8_t *at = column.bytes.data() + index * bytesOf(column.type.dtype);
  switch (column.type.dtype) {
  case DType::i64:
  case DType::u64:
    return load<int64_t>(at);
  case DType::i32:
    return load<int32_t>(at);
  case DType::u32:
    return load<uint32_t>(at);
  case DType::i16:
    return load<int16_t>(at);
  case DType::u16:
    return load<uint16_t>(at);
  case DType::i8:
    return load<int8_t>(at);
  default:
    return *at;
  }
}

/// Calls `visit(sample, value)` for each element until it returns false. Fails
/// if bytes of the file are missing.
static runtime::Status eachInteger(const Column &column, auto visit) {
  int64_t samples = column.type.shape.empty() ? 1 : column.type.shape[0];
  size_t count = column.bytes.size() / bytesOf(column.type.dtype),
         each = samples ? count / samples : 0;
  return readSamples(column.name, samples, [&](int64_t sample) {
    for (size_t i = sample * each; i < (sample + 1) * each; ++i)
      if (!visit(sample, integerAt(column, i)))
        return false;
    return true;
  });
}

/// Reports the first forbidden element as "tensor 'token': sample 3 has the
/// index 9"; empty if all are allowed.
static runtime::StatusOr<std::string>
forbidden(const Column &column, const char *noun, auto isAllowed) {
  int64_t place = -1, found = 0;
  GRADUS_TRY(eachInteger(column, [&](int64_t sample, int64_t value) {
    if (isAllowed(value))
      return true;
    place = sample;
    found = value;
    return false;
  }));
  if (place < 0)
    return std::string();
  return inWords("tensor '", column.name, "': sample ", place, " has the ",
                 noun, " ", found);
}

static runtime::Status checkLabels(const Column &column,
                                   const LabelRule &rule) {
  auto isAllowed = [&](int64_t label) {
    return (label >= 0 && label < rule.classes) || label == rule.ignore;
  };
  GRADUS_ASSIGN(std::string found, forbidden(column, "label", isAllowed));
  if (found.empty())
    return runtime::Status();
  return invalid(found, ", but the model has ", rule.classes, " classes (0 to ",
                 rule.classes - 1, ")");
}

static runtime::Status checkIndices(const Column &column, int64_t indices) {
  auto isAllowed = [&](int64_t index) {
    return index >= -indices && index < indices;
  };
  GRADUS_ASSIGN(std::string found, forbidden(column, "index", isAllowed));
  if (found.empty())
    return runtime::Status();
  return invalid(found, ", but the model looks it up among ", indices,
                 " (0 to ", indices - 1, "; -", indices,
                 " to -1 count from the end)");
}

runtime::StatusOr<ClassCount> countClasses(const Column &column,
                                           int64_t known) {
  std::vector<bool> found(static_cast<size_t>(known));
  GRADUS_TRY(eachInteger(column, [&](int64_t, int64_t label) {
    if (label >= 0 && label < known)
      found[static_cast<size_t>(label)] = true;
    return true;
  }));
  return ClassCount{std::count(found.begin(), found.end(), true), known};
}

runtime::Status checkIntegers(const Column &column, const TensorInfo &input,
                              const LabelRules &labels) {
  if (!isInteger(column.type.dtype))
    return runtime::Status();
  auto rule = labels.find(input.name);
  if (rule != labels.end() && rule->second.classes > 0)
    GRADUS_TRY(checkLabels(column, rule->second));
  return input.indices > 0 ? checkIndices(column, input.indices)
                           : runtime::Status();
}

} // namespace gradus::data
