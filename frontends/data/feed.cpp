// The checks between a data set and a graph, and the copying of samples.

#include "frontends/data/feed.h"

#include "runtime/status.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstring>

using namespace gradus::runtime;

namespace gradus::data {
namespace {

/// The sizes of one sample that count: all but the first axis and ones.
std::vector<int64_t> sampleShape(const std::vector<int64_t> &shape) {
  std::vector<int64_t> sizes;
  for (size_t axis = 1; axis < shape.size(); ++axis)
    if (shape[axis] != 1)
      sizes.push_back(shape[axis]);
  return sizes;
}

std::string withSamples(const TensorType &type) {
  std::string text = "[samples";
  for (size_t axis = 1; axis < type.shape.size(); ++axis)
    absl::StrAppend(&text, ", ", type.shape[axis]);
  return absl::StrCat(nameOf(type.dtype), " ", text, "]");
}

bool takesCount(const TensorInfo &input) {
  return input.name == "count" &&
         input.type == runtime::TensorType{runtime::DType::i64, {}};
}

template <typename From, typename To>
void convertEach(const uint8_t *from, uint8_t *to, size_t elements) {
  for (size_t i = 0; i < elements; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof(From), sizeof(From));
    To converted = static_cast<To>(value);
    std::memcpy(to + i * sizeof(To), &converted, sizeof(To));
  }
}

void pixelsToFloats(const uint8_t *from, uint8_t *to, size_t elements) {
  float *values = reinterpret_cast<float *>(to);
  for (size_t i = 0; i < elements; ++i)
    values[i] = from[i] * (1.0f / 255.0f);
}

} // namespace

/// How elements become those of an input; null where they cannot or need not.
Feed::Convert Feed::conversion(const Column &column, DType to) {
  DType from = column.type.dtype;
  if (column.pixels && to == DType::f32)
    return pixelsToFloats;
  bool small = from == DType::u8 || from == DType::boolean;
  if (to == DType::i64)
    return from == DType::i32  ? convertEach<int32_t, int64_t>
           : from == DType::i8 ? convertEach<int8_t, int64_t>
           : small             ? convertEach<uint8_t, int64_t>
                               : nullptr;
  if (to == DType::i32)
    return from == DType::i8 ? convertEach<int8_t, int32_t>
           : small           ? convertEach<uint8_t, int32_t>
                             : nullptr;
  return nullptr;
}

runtime::Status Feed::addColumn(const Dataset &dataset, const Column &column,
                                const TensorInfo &input) {
  Convert convert = conversion(column, input.type.dtype);
  if (column.type.shape.empty() || column.type.shape[0] == 0)
    return invalid("tensor '", input.name, "' has no samples");
  if (sampleShape(column.type.shape) != sampleShape(input.type.shape) ||
      (column.type.dtype != input.type.dtype && !convert))
    return invalid("tensor '", input.name, "' is ", withSamples(column.type),
                   "; expected ", withSamples(input.type));
  if (samples_ >= 0 && column.type.shape[0] != samples_)
    return invalid("tensor '", input.name, "' has ", column.type.shape[0],
                   " samples, others have ", samples_);
  samples_ = column.type.shape[0];
  Port port;
  port.source = column.bytes.data();
  port.sourceBytes = column.bytes.size() / samples_;
  port.bytes = input.bytes;
  port.targetBytes = input.bytes / batch_;
  port.elements = port.targetBytes / runtime::bytesOf(input.type.dtype);
  port.convert = convert;
  ports_.push_back(port);
  return runtime::Status();
}

runtime::Status Feed::addInput(const Dataset &dataset, const TensorInfo &input,
                               const LabelRules &labels) {
  if (takesCount(input)) {
    ports_.push_back({.bytes = input.bytes});
    return runtime::Status();
  }
  if (input.type.shape.empty())
    return invalid("input '", input.name,
                   "' is a scalar, which a data set cannot "
                   "give; use `gradus run`");
  if (batch_ >= 0 && input.type.shape[0] != batch_)
    return invalid("input '", input.name, "' takes ", input.type.shape[0],
                   " samples a step, others take ", batch_,
                   "; use `gradus run` for such a graph");
  batch_ = input.type.shape[0];
  const Column *column = dataset.find(input.name);
  if (!column)
    return invalid("has no tensor '", input.name, "' (",
                   withSamples(input.type), "); it has ", dataset.contents());
  GRADUS_TRY(addColumn(dataset, *column, input));
  GRADUS_TRY(checkIntegers(*column, input, labels));
  auto rule = labels.find(input.name);
  return labels.size() == 1 && rule != labels.end()
             ? addLabels(*column, rule->second)
             : runtime::Status();
}

runtime::Status Feed::addLabels(const Column &column, const LabelRule &rule) {
  if ((!rule.ignore && rule.weights.empty()) || !isInteger(column.type.dtype))
    return runtime::Status();
  labels_ = &column;
  rule_ = rule;
  if (countedLabels(0, samples_) == 0)
    return invalid("tensor '", column.name, "' has none that counts: all are ",
                   rule.ignore.value_or(0), ", the loss's ignore_index");
  return runtime::Status();
}

/// Calls `visit` with each label that is not ignored.
template <typename Visit>
void Feed::eachLabel(int64_t first, int64_t count, Visit visit) const {
  int64_t perSample =
      labels_->bytes.size() / runtime::bytesOf(labels_->type.dtype) / samples_;
  for (int64_t i = first * perSample; i < (first + count) * perSample; ++i)
    if (int64_t label = integerAt(*labels_, i); label != rule_.ignore)
      visit(label);
}

int64_t Feed::countedLabels(int64_t first, int64_t count) const {
  if (!labels_)
    return count;
  int64_t counted = 0;
  eachLabel(first, count, [&](int64_t) { ++counted; });
  return counted;
}

double Feed::labelWeight(int64_t first, int64_t count) const {
  if (!labels_ || rule_.weights.empty())
    return countedLabels(first, count);
  double sum = 0;
  eachLabel(first, count, [&](int64_t label) {
    bool known = label >= 0 && label < std::ssize(rule_.weights);
    sum += known ? rule_.weights[label] : 0;
  });
  return sum;
}

bool Feed::tellsCount() const {
  return std::any_of(ports_.begin(), ports_.end(),
                     [](const Port &port) { return !port.source; });
}

runtime::StatusOr<Feed> Feed::match(const Dataset &dataset,
                                    const std::vector<TensorInfo> &inputs,
                                    const LabelRules &labels) {
  Feed feed;
  for (const TensorInfo &input : inputs)
    GRADUS_TRY(at(feed.addInput(dataset, input, labels), dataset.source()));
  if (feed.samples_ < 0)
    return invalid("the graph has no input that a data set could fill");
  return feed;
}

void Feed::copySample(int64_t sample, int64_t place,
                      void *const *inputs) const {
  for (size_t i = 0; i < ports_.size(); ++i) {
    const Port &port = ports_[i];
    if (!port.source)
      continue;
    const uint8_t *from = port.source + sample * port.sourceBytes;
    uint8_t *to = static_cast<uint8_t *>(inputs[i]) + place * port.targetBytes;
    if (port.convert)
      port.convert(from, to, port.elements);
    else
      std::memcpy(to, from, port.targetBytes);
  }
}

void Feed::finish(int64_t count, void *const *inputs) const {
  for (size_t i = 0; i < ports_.size(); ++i) {
    const Port &port = ports_[i];
    uint8_t *to = static_cast<uint8_t *>(inputs[i]);
    if (port.source)
      std::memset(to + count * port.targetBytes, 0,
                  (batch_ - count) * port.targetBytes);
    else
      std::memcpy(to, &count, sizeof(count));
  }
}

} // namespace gradus::data
