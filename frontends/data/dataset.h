// A data set: named tensors whose first axis counts the samples.
//
// Read from .safetensors, .npz, .npy, IDX (MNIST), CIFAR binary, .csv and token
// files and folders of images; the tensors lie in mappings of those files where
// the format allows it.

#pragma once

#include "runtime/tensor_type.h"

#include "runtime/status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradus::data {

/// What the bytes of a column are to an input.
enum class Meaning {
  values, // its own, or narrower integers
  pixels, // u8 0..255 that an f32 input takes as value / 255
  text,   // f64 numbers that were read from text, for an input of any type
  tokens, // one stream of them; the input says how many a sample takes
  files,  // none: each sample is an image in a file, read when it is taken
};

/// One tensor of a data set; `owner` keeps its bytes alive.
struct Column {
  std::string name;
  runtime::TensorType type;
  std::span<const uint8_t> bytes;
  std::shared_ptr<const void> owner;
  Meaning meaning = Meaning::values;
  // Of text, the first cell that is no number, the first that is no integer and
  // the first beyond the range of f32: what is wrong and where; empty if there
  // is none.
  std::string notNumber = "", notInteger = "", notF32 = "";
  // Of files, their paths.
  std::shared_ptr<const std::vector<std::string>> files = nullptr;
  // Of labels that count the folders of images, the folders' names.
  std::shared_ptr<const std::vector<std::string>> classes = nullptr;
  // What one should know of the file; empty: nothing.
  std::string remark = "";
};

class Dataset {
public:
  /// Reads `arguments`, each FILE or NAME=FILE. A file that holds one unnamed
  /// tensor (.npy, IDX, tokens) needs its NAME; the images of a CIFAR file are
  /// `image` unless NAME says otherwise, its labels `label`; FILE.csv has a
  /// tensor for each column, NAME=FILE.csv:COLUMNS one of several;
  /// NAME=FILE.npz:ARRAY is one array under another name; a folder has images
  /// and labels as a CIFAR file. Tensors of one name in several files
  /// are joined along their samples.
  static runtime::StatusOr<Dataset>
  open(const std::vector<std::string> &arguments);

  /// The file that an argument names.
  static std::string pathOf(const std::string &argument);

  const std::vector<Column> &columns() const { return columns_; }
  /// Null where there is none of that name.
  const Column *find(const std::string &name) const;
  /// The one stream of tokens; null where there is none or more.
  const Column *stream() const;
  /// "image u8 60000x28x28, label i64 60000"
  std::string contents() const;
  /// The names of the classes that its labels count; null where they have none.
  const std::vector<std::string> *classes() const;
  /// Labels that count folders count `names` instead, by the folders' names.
  /// Fails where one is not among them; `of` says whose they are.
  runtime::Status countClassesAs(const std::vector<std::string> &names,
                                 const std::string &of);
  /// What one should know of its files, a sentence each.
  const std::vector<std::string> &remarks() const { return remarks_; }
  /// Where it came from, for errors.
  const std::string &source() const { return source_; }

private:
  runtime::Status add(Column column);

  std::vector<Column> columns_;
  std::vector<std::string> remarks_;
  std::string source_;
};

} // namespace gradus::data
