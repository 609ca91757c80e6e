// A data set: named tensors whose first axis counts the samples.
//
// Read from .safetensors, .npz, .npy, IDX (MNIST) and CIFAR binary files; the
// tensors lie in mappings of those files where the format allows it.

#pragma once

#include "runtime/tensor_type.h"

#include "runtime/status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradus::data {

/// One tensor of a data set; `owner` keeps its bytes alive.
struct Column {
  std::string name;
  runtime::TensorType type;
  std::span<const uint8_t> bytes;
  std::shared_ptr<const void> owner;
  bool pixels = false; // u8 0..255 that an f32 input takes as value / 255
};

class Dataset {
public:
  /// Reads `arguments`, each FILE or NAME=FILE. A file that holds one unnamed
  /// tensor (.npy, IDX) needs its NAME; the images of a CIFAR file are `image`
  /// unless NAME says otherwise, its labels `label`. Tensors of one name in
  /// several files are joined along their samples.
  static runtime::StatusOr<Dataset>
  open(const std::vector<std::string> &arguments);

  /// The file that an argument names.
  static std::string pathOf(const std::string &argument);

  const std::vector<Column> &columns() const { return columns_; }
  /// Null where there is none of that name.
  const Column *find(const std::string &name) const;
  /// "image u8 60000x28x28, label i64 60000"
  std::string contents() const;
  /// Where it came from, for errors.
  const std::string &source() const { return source_; }

private:
  runtime::Status add(Column column);

  std::vector<Column> columns_;
  std::string source_;
};

} // namespace gradus::data
