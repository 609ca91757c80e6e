// The checks between a data set and a graph, and the copying of samples.

#include "training/data/feed.h"

#include "runtime/status.h"
#include "runtime/well_known.h"
#include "training/data/f32_range.h"
#include "training/data/guarded_read.h"
#include "training/data/image_file.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

using namespace gradus::runtime;

namespace gradus::data {
namespace {

using Convert = void (*)(const uint8_t *from, uint8_t *to, size_t elements);

/// Returns the sizes of a sample without axes of size 1.
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

ImageShape imageShape(const TensorType &type) {
  const std::vector<int64_t> &shape = type.shape;
  return {shape.size() == 4 ? shape[1] : 1, shape[shape.size() - 2],
          shape.back()};
}

/// Checks that image files can fill the input.
runtime::Status checkImages(const TensorInfo &input) {
  size_t rank = input.type.shape.size();
  bool isImage = input.type.dtype == DType::f32 && (rank == 3 || rank == 4);
  if (isImage && (imageShape(input.type).channels == 1 ||
                  imageShape(input.type).channels == 3))
    return runtime::Status();
  return invalid("input '", input.name, "' is ", toString(input.type),
                 "; files of images fill f32 [batch, 1 or 3 channels, height, "
                 "width]");
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

/// The number of elements in one sample of an input.
int64_t sampleElements(const TensorType &type) {
  int64_t elements = 1;
  for (size_t axis = 1; axis < type.shape.size(); ++axis)
    elements *= type.shape[axis];
  return elements;
}

/// Splits a stream into samples of the input's length, beginning at token
/// `shift`. One token must follow the last sample, so that there are as many
/// labels as inputs.
runtime::StatusOr<Column> windows(const Column &stream, const TensorInfo &input,
                                  int64_t shift) {
  int64_t tokens = stream.type.shape[0], each = sampleElements(input.type);
  int64_t samples = each ? (tokens - 1) / each : 0;
  if (samples == 0)
    return invalid("tensor '", stream.name, "' has ", tokens,
                   " tokens; a sample of input '", input.name, "' takes ", each,
                   " and one more");
  Column column = stream;
  column.name = input.name;
  column.type.shape = input.type.shape;
  column.type.shape[0] = samples;
  size_t size = runtime::bytesOf(stream.type.dtype);
  column.bytes = stream.bytes.subspan(shift * size, samples * each * size);
  return column;
}

/// Whether all numbers of a text, all integers, fit into 32 bits.
bool fitsI32(const Column &text) {
  for (size_t at = 0; at < text.bytes.size(); at += sizeof(double)) {
    double value;
    std::memcpy(&value, text.bytes.data() + at, sizeof(value));
    if (value < -0x1p31 || value >= 0x1p31)
      return false;
  }
  return true;
}

/// Converts the numbers of a text to the type of an input.
runtime::StatusOr<Column> ofText(const Column &text, const TensorInfo &input) {
  bool real = !isInteger(input.type.dtype);
  Convert convert =
      input.type.dtype == DType::f32   ? convertEach<double, float>
      : input.type.dtype == DType::f64 ? convertEach<double, double>
      : input.type.dtype == DType::i64 ? convertEach<double, int64_t>
      : input.type.dtype == DType::i32 ? convertEach<double, int32_t>
                                       : nullptr;
  if (!convert)
    return invalid("input '", input.name, "' is ", toString(input.type),
                   "; text can give f32, f64, i32 and i64");
  if (!text.notNumber.empty())
    return invalid(text.notNumber, "; categories are written as 0, 1, ...");
  if (!real && !text.notInteger.empty())
    return invalid(text.notInteger, ", which is what input '", input.name,
                   "' takes");
  if (input.type.dtype == DType::f32 && !text.notF32.empty())
    return invalid(text.notF32, ", which is what input '", input.name,
                   "' takes");
  if (input.type.dtype == DType::i32 && !fitsI32(text))
    return invalid("tensor '", text.name,
                   "' has an integer beyond 32 bits; "
                   "input '",
                   input.name, "' is i32");
  size_t count = text.bytes.size() / sizeof(double);
  auto bytes = std::make_shared<std::vector<uint8_t>>(
      count * runtime::bytesOf(input.type.dtype));
  convert(text.bytes.data(), bytes->data(), count);
  TensorType type{input.type.dtype, text.type.shape};
  if (sampleElements(text.type) == sampleElements(input.type)) {
    type.shape = input.type.shape; // a row of cells has any shape
    type.shape[0] = text.type.shape[0];
  }
  return Column{text.name, type, *bytes, bytes};
}

/// NumPy's name of a type.
const char *numpyName(DType dtype) {
  return dtype == DType::f32   ? "float32"
         : dtype == DType::f64 ? "float64"
         : dtype == DType::i32 ? "int32"
         : dtype == DType::i64 ? "int64"
                               : nullptr;
}

/// Finds an order of the axes that turns sizes `from` into `to` and keeps the
/// first axis; prefers to move the last axis (channels) in front of the other.
/// Empty if there is none.
std::vector<size_t> orderOfAxes(const std::vector<int64_t> &from,
                                const std::vector<int64_t> &to) {
  constexpr size_t kMostAxes = 6;
  std::vector<size_t> order(from.size());
  std::iota(order.begin(), order.end(), 0);
  if (from.size() != to.size() || from.size() < 3 || from.size() > kMostAxes ||
      sampleShape(from) == sampleShape(to))
    return {};
  auto fits = [&] {
    for (size_t axis = 1; axis < to.size(); ++axis)
      if (from[order[axis]] != to[axis])
        return false;
    return true;
  };
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  if (fits())
    return order;
  std::sort(order.begin(), order.end());
  while (std::next_permutation(order.begin() + 1, order.end()))
    if (fits())
      return order;
  return {};
}

/// Advises on a conversion that makes values of fitting sizes usable.
std::string conversionAdvice(const TensorType &from, const TensorType &to) {
  if (auto order = orderOfAxes(from.shape, to.shape); !order.empty())
    return inWords("; its axes are in another order, which NumPy changes by "
                   "numpy.transpose(x, (",
                   absl::StrJoin(order, ", "), "))");
  bool typeOnly = from.dtype != to.dtype &&
                  sampleShape(from.shape) == sampleShape(to.shape);
  if (!typeOnly || !numpyName(to.dtype))
    return "";
  return inWords("; NumPy converts it by astype(numpy.", numpyName(to.dtype),
                 ")");
}

/// Adds the advice of the labels' rule to a failure.
runtime::Status advised(const runtime::Status &status, const LabelRule *rule) {
  if (status.ok() || !rule)
    return status;
  return runtime::Status(status.code(), status.message() + rule->advice);
}

} // namespace

/// Returns the conversion of elements to an input's type; null if there is none
/// or none is needed.
Feed::Convert Feed::conversion(const Column &column, DType to) {
  DType from = column.type.dtype;
  if (column.meaning == Meaning::pixels && to == DType::f32)
    return pixelsToFloats;
  bool small = from == DType::u8 || from == DType::boolean;
  bool tokens = column.meaning == Meaning::tokens;
  if (from == DType::f64 && to == DType::f32)
    return convertEach<double, float>;
  if (to == DType::i64)
    return from == DType::i32   ? convertEach<int32_t, int64_t>
           : from == DType::i16 ? convertEach<int16_t, int64_t>
           : from == DType::u16 ? convertEach<uint16_t, int64_t>
           : from == DType::u32 ? convertEach<uint32_t, int64_t>
           : from == DType::i8  ? convertEach<int8_t, int64_t>
           : small              ? convertEach<uint8_t, int64_t>
                                : nullptr;
  if (to == DType::i32)
    return from == DType::i8              ? convertEach<int8_t, int32_t>
           : from == DType::i16           ? convertEach<int16_t, int32_t>
           : from == DType::u16           ? convertEach<uint16_t, int32_t>
           : from == DType::u32 && tokens ? convertEach<uint32_t, int32_t>
           : small                        ? convertEach<uint8_t, int32_t>
                                          : nullptr;
  return nullptr;
}

runtime::Status Feed::addColumn(const Column &column, const TensorInfo &input) {
  Convert convert = conversion(column, input.type.dtype);
  if (column.type.shape.empty() || column.type.shape[0] == 0)
    return invalid("tensor '", input.name, "' has no samples");
  if (column.files) {
    GRADUS_TRY(checkImages(input));
    return addPort(column, input, nullptr);
  }
  if (sampleShape(column.type.shape) != sampleShape(input.type.shape) ||
      (column.type.dtype != input.type.dtype && !convert))
    return invalid("tensor '", input.name, "' is ", withSamples(column.type),
                   "; expected ", withSamples(input.type),
                   conversionAdvice(column.type, input.type));
  if (column.type.dtype == DType::f64 && input.type.dtype == DType::f32) {
    GRADUS_TRY(checkF32Range(column));
    notes_.push_back(
        inWords("tensor '", column.name, "' is converted from f64 to f32"));
  }
  return addPort(column, input, convert);
}

runtime::Status Feed::addPort(const Column &column, const TensorInfo &input,
                              Convert convert) {
  if (samples_ >= 0 && column.type.shape[0] != samples_)
    return invalid("tensor '", input.name, "' has ", column.type.shape[0],
                   " samples, others have ", samples_);
  samples_ = column.type.shape[0];
  Port port;
  port.input = input;
  port.source = column.files ? nullptr : column.bytes.data();
  port.sourceBytes = column.bytes.size() / samples_;
  port.targetBytes = input.bytes / batch_;
  port.elements = port.targetBytes / runtime::bytesOf(input.type.dtype);
  port.convert = convert;
  port.isOfPixels = column.meaning == Meaning::pixels;
  port.files = column.files;
  port.samples = samples_;
  readsFiles_ |= column.files != nullptr;
  ports_.push_back(port);
  return runtime::Status();
}

const Column *Feed::keep(Column column) {
  made_.push_back(std::make_shared<const Column>(std::move(column)));
  return made_.back().get();
}

/// A hint where the images of a folder have the name that they have unless
/// another one is given, and an input may want them.
static std::string nameOfImages(const Dataset &dataset,
                                const TensorInfo &input) {
  const Column *images = dataset.find("image");
  bool mayBeImages = input.type.shape.size() == 4;
  if (!images || images->meaning != Meaning::files || !mayBeImages)
    return "";
  return absl::StrCat("; write ", input.name, "=FOLDER to call its images ",
                      input.name);
}

/// Finds the column of an input; makes it if the data are text or a stream.
runtime::StatusOr<const Column *> Feed::findColumn(const Dataset &dataset,
                                                   const TensorInfo &input,
                                                   const LabelRules &labels) {
  const Column *column = dataset.find(input.name);
  bool isLabel =
      labels.contains(input.name) || input.name == well_known::kLabel;
  bool follows = !column && isLabel && dataset.stream();
  if (follows)
    column = dataset.stream();
  if (!column)
    return invalid("has no tensor '", input.name, "' (",
                   withSamples(input.type), "); it has ", dataset.contents(),
                   nameOfImages(dataset, input));
  if (column->meaning == Meaning::text) {
    GRADUS_ASSIGN(Column made, ofText(*column, input));
    return keep(std::move(made));
  }
  if (column->meaning == Meaning::tokens) {
    GRADUS_ASSIGN(Column made, windows(*column, input, follows ? 1 : 0));
    return keep(std::move(made));
  }
  return column;
}

runtime::Status Feed::addInput(const Dataset &dataset, const TensorInfo &input,
                               const LabelRules &labels) {
  if (takesCount(input)) {
    ports_.emplace_back().input = input;
    ports_.back().takesCount = true;
    return runtime::Status();
  }
  if (input.type.shape.empty())
    return invalid("input '", input.name,
                   "' is a scalar, which a data set cannot "
                   "give; use `gradus run`");
  if (input.type.shape[0] < 1)
    return invalid("input '", input.name, "' takes ", input.type.shape[0],
                   " samples a step, expected 1 or more");
  if (batch_ >= 0 && input.type.shape[0] != batch_)
    return invalid("input '", input.name, "' takes ", input.type.shape[0],
                   " samples a step, others take ", batch_,
                   "; use `gradus run` for such a graph");
  batch_ = input.type.shape[0];
  GRADUS_ASSIGN(const Column *column, findColumn(dataset, input, labels));
  auto rule = labels.find(input.name);
  const LabelRule *own = rule == labels.end() ? nullptr : &rule->second;
  GRADUS_TRY(advised(addColumn(*column, input), own));
  GRADUS_TRY(advised(checkIntegers(*column, input, labels), own));
  bool isOnlyLabel = own && labels.size() == 1 && ports_.back().elements == 1;
  if (isOnlyLabel && own->classes > 0 && isInteger(column->type.dtype)) {
    GRADUS_ASSIGN(classes_, countClasses(*column, own->classes));
  }
  return labels.size() == 1 && rule != labels.end()
             ? addLabels(*column, rule->second)
             : runtime::Status();
}

runtime::Status Feed::addPreparation(const TensorInfo &input,
                                     const Preparations &preparations) {
  auto found = preparations.find(input.name);
  if (found == preparations.end())
    return runtime::Status();
  GRADUS_TRY(check(found->second, input));
  auto preparation = std::make_shared<Preparation>(found->second);
  scales_ |= preparation->resizedCrop.has_value();
  if (ports_.back().files) // Files are cropped before they are scaled.
    std::swap(ports_.back().crop, preparation->resizedCrop);
  ports_.back().preparation = std::move(preparation);
  return runtime::Status();
}

runtime::Status Feed::addLabels(const Column &column, const LabelRule &rule) {
  DType type = ports_.back().input.type.dtype;
  if (!CountedLabels::areCounted(rule, type))
    return runtime::Status();
  labels_.emplace(column, rule,
                  CountedLabels::Input{ports_.size() - 1, type,
                                       int64_t(ports_.back().elements)});
  GRADUS_ASSIGN(int64_t counted, labels_->count(order_, 0, samples_));
  if (counted == 0)
    return invalid("tensor '", column.name, "' has none that counts: all are ",
                   rule.ignore.value_or(0), ", the loss's ignore_index");
  return runtime::Status();
}

runtime::StatusOr<int64_t> Feed::countedLabels(int64_t first,
                                               int64_t count) const {
  if (!labels_)
    return count;
  auto counted = labels_->count(order_, first, count);
  GRADUS_TRY(at(counted.status(), source_));
  return counted;
}

runtime::StatusOr<double> Feed::labelWeight(int64_t first,
                                            int64_t count) const {
  if (!labels_)
    return static_cast<double>(count);
  auto weight = labels_->weight(order_, first, count);
  GRADUS_TRY(at(weight.status(), source_));
  return weight;
}

double Feed::batchWeight(std::span<const void *const> inputs) const {
  double weight = 0;
  for (size_t i = 0; i < inputs.size(); i += inputCount())
    weight += labels_
                  ? labels_->batchWeight(inputs[i + labels_->input()], batch_)
                  : static_cast<double>(batch_);
  return weight;
}

bool Feed::tellsCount() const {
  return std::any_of(ports_.begin(), ports_.end(),
                     [](const Port &port) { return port.takesCount; });
}

runtime::StatusOr<Feed> Feed::match(const Dataset &dataset,
                                    const std::vector<TensorInfo> &inputs,
                                    const LabelRules &labels,
                                    const Preparations &preparations) {
  Feed feed;
  feed.source_ = dataset.source();
  for (const TensorInfo &input : inputs) {
    GRADUS_TRY(at(feed.addInput(dataset, input, labels), dataset.source()));
    GRADUS_TRY(feed.addPreparation(input, preparations));
  }
  if (feed.samples_ < 0)
    return invalid("the graph has no input that a data set could fill");
  return feed;
}

Feed Feed::part(uint64_t seed, int64_t first, int64_t count) const {
  Feed part = *this;
  constexpr int64_t kNoEpoch = -1; // an order that no epoch has
  part.order_ = {Shuffle(seed, kNoEpoch, samples_), first};
  part.samples_ = count;
  return part;
}

runtime::Status Feed::maskLastBatch() {
  if (!labels_ || !labels_->canBeIgnored())
    return invalid("inputs.last_batch: \"mask\" needs labels that the loss can "
                   "ignore (loss.ignore_index); take \"drop\"");
  masksLast_ = true;
  return runtime::Status();
}

runtime::Status Feed::Port::read(int64_t sample, uint8_t *to,
                                 const std::string &of, uint64_t draw) const {
  if (files) // errors name the file
    return readFile((*files)[sample], reinterpret_cast<float *>(to), draw);
  bool whole = readsWhole([&] {
    const uint8_t *from = source + sample * sourceBytes;
    if (convert)
      convert(from, to, elements);
    else
      std::memcpy(to, from, targetBytes);
  });
  return whole ? runtime::Status() : at(cutShort(input.name, sample), of);
}

/// Returns the first sample with an element that is NaN or, if `infinite`,
/// infinite; -1 if there is none.
int64_t Feed::Port::findNonfinite(bool infinite) const {
  int64_t found = -1;
  bool doubles = convert == convertEach<double, float>;
  if (!source || (convert && !doubles) || input.type.dtype != DType::f32)
    return found;
  size_t size = doubles ? sizeof(double) : sizeof(float);
  (void)readsWhole([&] {
    for (int64_t sample = 0; sample < samples; ++sample)
      for (size_t i = 0; i < elements; ++i) {
        const uint8_t *from = source + sample * sourceBytes + i * size;
        float value;
        (doubles
             ? convertEach<double, float>
             : convertEach<float, float>)(from,
                                          reinterpret_cast<uint8_t *>(&value),
                                          1);
        if (infinite ? std::isinf(value) : std::isnan(value)) {
          found = sample;
          return;
        }
      }
  });
  return found;
}

std::string Feed::firstNonfinite() const {
  for (bool infinite : {false, true})
    for (const Port &port : ports_)
      if (int64_t sample = port.findNonfinite(infinite); sample >= 0)
        return inWords("tensor '", port.input.name, "': sample ", sample,
                       " has ", infinite ? "an infinity" : "nan");
  return "";
}

runtime::Status Feed::Port::readFile(const std::string &path, float *to,
                                     uint64_t draw) const {
  thread_local ImageMemory memory;
  ImageShape shape = imageShape(input.type);
  if (crop) {
    GRADUS_TRY(readPart(path, {*crop, draw, shape}, memory));
    cropImage(memory.part, shape, memory, to);
  } else {
    GRADUS_TRY(readImage(path, memory));
    fitImage(memory.part.image, shape, memory, to);
  }
  return runtime::Status();
}

runtime::Status Feed::copySample(int64_t sample, int64_t place,
                                 void *const *inputs, uint64_t draw) const {
  thread_local std::vector<float> raw;
  for (size_t i = 0; i < ports_.size(); ++i) {
    const Port &port = ports_[i];
    if (port.takesCount)
      continue;
    uint8_t *to = static_cast<uint8_t *>(inputs[i]) + place * port.targetBytes;
    if (!port.preparation) {
      GRADUS_TRY(port.read(order_.inWhole(sample), to, source_, draw));
      continue;
    }
    raw.resize(port.elements);
    auto *place = reinterpret_cast<uint8_t *>(raw.data());
    GRADUS_TRY(port.read(order_.inWhole(sample), place, source_, draw));
    prepare(*port.preparation, port.input, draw, raw.data(),
            reinterpret_cast<float *>(to));
  }
  return runtime::Status();
}

void Feed::ignoreLabels(int64_t place, void *const *inputs) const {
  labels_->ignore(inputs[labels_->input()], place, batch_);
}

void Feed::finish(int64_t count, void *const *inputs) const {
  for (size_t i = 0; i < ports_.size(); ++i) {
    const Port &port = ports_[i];
    uint8_t *to = static_cast<uint8_t *>(inputs[i]);
    if (!port.takesCount)
      std::memset(to + count * port.targetBytes, 0,
                  (batch_ - count) * port.targetBytes);
    else
      std::memcpy(to, &count, sizeof(count));
  }
}

} // namespace gradus::data
