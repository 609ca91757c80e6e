// A data set: named tensors whose first axis counts the samples.
//
// It is read from .safetensors, .npz, .npy, IDX (MNIST), CIFAR binary, .csv and
// token files and folders of images; where the format allows it, the tensors
// lie in mappings of those files.

#pragma once

#include "runtime/tensor_type.h"

#include "runtime/status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradus::data {

/// The way in which an input reads the bytes of a column.
enum class Meaning {
  values, // values of the input's type, or narrower integers
  pixels, // u8 0..255 that an f32 input takes as value / 255
  text,   // f64 numbers read from text, for an input of any type
  tokens, // one stream; the input says how many a sample has
  files,  // no bytes: each sample is an image file, read when needed
};

/// One tensor of a data set; `owner` keeps its bytes alive.
struct Column {
  std::string name;
  runtime::TensorType type;
  std::span<const uint8_t> bytes;
  std::shared_ptr<const void> owner;
  Meaning meaning = Meaning::values;
  // For text: the first cell that is not a number, not an integer, or beyond
  // the range of f32, with what is wrong and where; empty if there is none.
  std::string notNumber = "", notInteger = "", notF32 = "";
  // For files: their paths.
  std::shared_ptr<const std::vector<std::string>> files = nullptr;
  // For labels that count folders of images: the folders' names.
  std::shared_ptr<const std::vector<std::string>> classes = nullptr;
  // A remark on the file for the user; empty: none.
  std::string remark = "";
};

class Dataset {
public:
  /// Reads `arguments`, each FILE or NAME=FILE. A file that holds one unnamed
  /// tensor (.npy, IDX, tokens) needs NAME. The images of a CIFAR file are
  /// called `image` unless NAME is given, its labels `label`; a folder of
  /// images likewise. FILE.csv has a tensor for each column,
  /// NAME=FILE.csv:COLUMNS is one tensor of several columns;
  /// NAME=FILE.npz:ARRAY is one array under another name. Tensors with the same
  /// name in several files are joined along their samples.
  static runtime::StatusOr<Dataset>
  open(const std::vector<std::string> &arguments);

  /// Tensors that are in memory already; `source` names them in errors.
  static runtime::StatusOr<Dataset> of(std::vector<Column> columns,
                                       const std::string &source);

  /// The file in an argument.
  static std::string pathOf(const std::string &argument);

  const std::vector<Column> &columns() const { return columns_; }
  /// The column of this name; null if there is none.
  const Column *find(const std::string &name) const;
  /// The only stream of tokens; null if there is none or more than one.
  const Column *stream() const;
  /// Lists the columns: "image u8 60000x28x28, label i64 60000".
  std::string contents() const;
  /// The names of the classes that labels count; null if they have no names.
  const std::vector<std::string> *classes() const;
  /// Renumbers labels that count folders so that they are indices in `names`.
  /// Fails if a folder's name is not in `names`; `of` says whose names they
  /// are.
  runtime::Status countClassesAs(const std::vector<std::string> &names,
                                 const std::string &of);
  /// Remarks on its files for the user, a sentence each.
  const std::vector<std::string> &remarks() const { return remarks_; }
  /// The arguments it was read from, for errors.
  const std::string &source() const { return source_; }

private:
  runtime::Status add(Column column);

  std::vector<Column> columns_;
  std::vector<std::string> remarks_;
  std::string source_;
};

} // namespace gradus::data
