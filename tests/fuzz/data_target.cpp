// Data files of every format: read, matched with inputs that would take what
// they hold, and the first samples copied.
//
// The first byte of an input is a letter that says the format; the others are
// the file.

#include "target.h"

#include "training/data/feed.h"
#include "training/data/image_file.h"

#include <algorithm>
#include <fstream>

namespace gradus::fuzz {
namespace {

using namespace runtime;

constexpr size_t kMostBytes = 1 << 24; // of a batch that samples are put into
constexpr int64_t kSamples = 4;        // that are looked at

struct Format {
  char letter;
  const char *name = ""; // NAME= before the file
  const char *file;
  const char *columns = ""; // behind it
};

constexpr Format kFormats[] = {
    {'z', "", "data.npz"},
    {'y', "x=", "data.npy"},
    {'s', "", "data.safetensors"},
    {'c', "", "data.csv"},
    {'d', "x=", "data.csv", ":a,b..d"},
    {'i', "x=", "data.idx"},
    {'g', "x=", "data.gz"},
    {'b', "", "data.bin"},
    {'t', "x=", "data.bin"},
    {'u', "x=", "data.u16"},
    {'w', "x=", "data.u32"},
};

Outcome refused(const Status &status) {
  return {Outcome::refused, std::string(status.message())};
}

/// An input that takes two samples of a column, or eight tokens.
TensorInfo inputFor(const data::Column &column, bool asFloats) {
  TensorInfo input;
  input.name = column.name;
  input.type = column.type;
  if (asFloats || column.meaning == data::Meaning::text)
    input.type.dtype = DType::f32;
  if (column.meaning == data::Meaning::tokens)
    input.type = {DType::i64, {2, 4}};
  else if (!input.type.shape.empty())
    input.type.shape[0] = 2;
  input.bytes = bytesOf(input.type).value_or(kMostBytes);
  return input;
}

Outcome takeSamples(const data::Dataset &dataset, bool asFloats) {
  std::vector<TensorInfo> inputs;
  for (const data::Column &column : dataset.columns())
    inputs.push_back(inputFor(column, asFloats));
  auto feed = data::Feed::match(dataset, inputs);
  if (!feed.ok())
    return refused(feed.status());
  std::vector<Bytes> batch;
  std::vector<void *> places;
  for (size_t i = 0; i < feed->inputCount(); ++i) {
    if (feed->bytesOf(i) >= kMostBytes)
      return {Outcome::skipped, "takes much memory"};
    batch.emplace_back(std::max<size_t>(1, feed->bytesOf(i))); // a place
    places.push_back(batch.back().data());
  }
  (void)feed->firstNonfinite();
  for (int64_t i = 0; i < std::min(feed->samples(), kSamples); ++i)
    if (Status status = feed->copySample(i, i % 2, places.data()); !status.ok())
      return refused(status);
  return {};
}

Outcome readFile(const Format &format, std::span<const uint8_t> bytes) {
  std::string path = ownFolder() + "/" + format.file;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  auto dataset = data::Dataset::open({format.name + path + format.columns});
  if (!dataset.ok())
    return refused(dataset.status());
  (void)dataset->contents();
  (void)takeSamples(*dataset, true);
  return takeSamples(*dataset, false);
}

/// The whole image in colours and grey, and a part that the file's length
/// chooses.
Outcome readImage(std::span<const uint8_t> bytes) {
  data::ImageMemory memory;
  data::Image &image = memory.part.image;
  std::vector<float> small(3 * 4 * 4);
  data::RandomPart part{{}, bytes.size(), {3, 4, 4}};
  if (data::decodePart(bytes, part, memory.part).ok())
    data::cropImage(memory.part, part.shape, memory, small.data());
  if (Status status = data::decodeImage(bytes, image); !status.ok())
    return refused(status);
  data::fitImage(image, {3, 4, 4}, memory, small.data());
  data::fitImage(image, {1, 4, 4}, memory, small.data());
  return {};
}

} // namespace

void prepare(const std::vector<std::string> &) {}

Outcome tryInput(std::span<const uint8_t> input) {
  if (input.empty())
    return {Outcome::skipped, "is empty"};
  std::span<const uint8_t> file = input.subspan(1);
  if (input[0] == 'p' || input[0] == 'j') // PNG, JPEG
    return readImage(file);
  for (const Format &format : kFormats)
    if (format.letter == static_cast<char>(input[0]))
      return readFile(format, file);
  return {Outcome::skipped, "begins with no letter of a format"};
}

} // namespace gradus::fuzz
