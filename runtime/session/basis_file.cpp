// The rows of a basis and what they must be; see basis_file.h.

#include "runtime/session/basis_file.h"

#include "runtime/float_conversion.h"
#include "runtime/orthonormal.h"
#include "runtime/session/checkpoint.h"

#include <charconv>
#include <cmath>

namespace gradus::runtime {
namespace {

/// The rows of all tensors together.
class BasisRows : public Vectors {
public:
  explicit BasisRows(const Safetensors &file) : file_(file) {
    for (const NamedTensor &tensor : file.tensors()) {
      begins_.push_back(length_);
      length_ += sizeOf(tensor);
    }
  }

  size_t count() const override {
    return file_.tensors().front().type.shape.front();
  }
  size_t length() const override { return length_; }

  Status read(size_t row, size_t begin,
              std::span<double> numbers) const override {
    const auto &tensors = file_.tensors();
    for (size_t i = 0; i < tensors.size() && !numbers.empty(); ++i) {
      size_t size = sizeOf(tensors[i]), end = begins_[i] + size;
      if (begin >= end)
        continue;
      size_t many = std::min(end - begin, numbers.size());
      size_t first = row * size + (begin - begins_[i]);
      // A file need not align its numbers.
      convertFloats(nameOf(DType::f32), nameOf(DType::f64),
                    tensors[i].data.data() + first * sizeof(float),
                    numbers.data(), many);
      for (size_t j = 0; j < many; ++j)
        if (!std::isfinite(numbers[j]))
          return invalid("row ", row, " of ", tensors[i].name, " holds ",
                         numbers[j], ": expected finite numbers");
      numbers = numbers.subspan(many);
      begin += many;
    }
    return Status();
  }

private:
  /// The numbers of a row.
  static size_t sizeOf(const NamedTensor &tensor) {
    return tensor.data.size() / sizeof(float) / tensor.type.shape.front();
  }

  const Safetensors &file_;
  std::vector<size_t> begins_; // of tensors in a row
  size_t length_ = 0;
};

Status verifyForm(const Safetensors &file) {
  const auto &metadata = file.metadata();
  auto format = metadata.find("format");
  if (format != metadata.end() && format->second == "gradus")
    return invalid("is a checkpoint; `gradus basis` makes a basis of several");
  if (file.tensors().empty())
    return invalid("has no tensors");
  int64_t rows = 0;
  uint64_t numbers = 0; // of all tensors
  for (const NamedTensor &tensor : file.tensors()) {
    numbers += tensor.data.size() / sizeof(float);
    bool isPart = tensor.type.dtype == DType::f32 &&
                  !tensor.type.shape.empty() && tensor.type.shape.front() > 0;
    if (isPart && !rows)
      rows = tensor.type.shape.front();
    if (!isPart || tensor.type.shape.front() != rows)
      return invalid("has ", toString(tensor.type), " for ", tensor.name,
                     ", expected a tensor of f32 with ",
                     rows ? std::to_string(rows) : "as many",
                     " directions along its first axis, as all have");
  }
  if (numbers / rows < static_cast<uint64_t>(rows))
    return invalid("has ", rows, " directions of ", numbers / rows,
                   " numbers each: no more than there are numbers can be "
                   "orthonormal");
  return Status();
}

/// Snapshots differ along one direction fewer than they are.
Status verifyCount(const Safetensors &file) {
  auto noted = file.metadata().find("snapshots");
  int64_t snapshots = 0, rows = file.tensors().front().type.shape.front();
  if (noted == file.metadata().end())
    return Status();
  const std::string &text = noted->second;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), snapshots);
  bool isNumber = error == std::errc() && end == text.data() + text.size();
  if (!isNumber || rows < snapshots)
    return Status();
  return invalid("has ", rows, " directions of ", snapshots,
                 " checkpoints, which differ along ", snapshots - 1,
                 " at most");
}

} // namespace

Status verifyBasisHeader(const Safetensors &file) {
  GRADUS_TRY(verifyForm(file));
  return verifyCount(file);
}

Status verifyBasisValues(const Safetensors &file) {
  GRADUS_TRY(verifyContents(file));
  return verifyOrthonormal(BasisRows(file));
}

} // namespace gradus::runtime
