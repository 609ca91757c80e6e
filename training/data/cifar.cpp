// CIFAR-10 and CIFAR-100 in their binary version
// (https://www.cs.toronto.edu/~kriz/cifar.html): records of one label (or a
// coarse and a fine one) and 3 x 32 x 32 bytes.

#include "training/data/formats.h"

#include "runtime/status.h"
#include "runtime/well_known.h"

using namespace gradus::runtime;

namespace gradus::data {

static constexpr size_t kPixels = 3 * 32 * 32;

/// Whether the labels at byte `at` of all records are below `classes`.
static bool labelsBelow(std::span<const uint8_t> bytes, size_t record,
                        size_t at, int classes) {
  if (bytes.empty() || bytes.size() % record)
    return false;
  for (; at < bytes.size(); at += record)
    if (bytes[at] >= classes)
      return false;
  return true;
}

bool isCifar(std::span<const uint8_t> bytes) {
  return labelsBelow(bytes, kPixels + 1, 0, 10) ||
         (labelsBelow(bytes, kPixels + 2, 0, 20) &&
          labelsBelow(bytes, kPixels + 2, 1, 100));
}

runtime::StatusOr<std::vector<Column>> readCifar(const FileBytes &file,
                                                 const std::string &name) {
  size_t size = file.bytes.size();
  size_t labels = size % (kPixels + 1) == 0 ? 1 : 2;
  size_t record = kPixels + labels;
  if (size == 0 || size % record)
    return invalid("is no CIFAR file: its ", size, " bytes are not records of ",
                   kPixels + 1, " or ", kPixels + 2);
  int64_t samples = size / record;
  auto bytes = std::make_shared<std::vector<uint8_t>>(samples * (kPixels + 1));
  uint8_t *pixels = bytes->data(), *classes = pixels + samples * kPixels;
  for (int64_t i = 0; i < samples; ++i) {
    const uint8_t *at = &file.bytes[i * record];
    classes[i] = at[labels - 1]; // the last label is the fine one
    std::copy_n(at + labels, kPixels, pixels + i * kPixels);
  }
  std::span<const uint8_t> all = *bytes;
  return std::vector<Column>{{name,
                              {DType::u8, {samples, 3, 32, 32}},
                              all.first(samples * kPixels),
                              bytes,
                              Meaning::pixels},
                             {well_known::kLabel,
                              {DType::u8, {samples}},
                              all.subspan(samples * kPixels),
                              bytes}};
}

} // namespace gradus::data
