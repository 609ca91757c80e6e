// The options of an import, for the reader of a model and its handlers of ops.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gradus {

struct ImportOptions {
  /// Sizes of symbolic dimensions by name; a dimension without a name is
  /// `<input>.<axis>`.
  std::map<std::string, int64_t> dims;
  /// Patterns of initializer names; * stands for any text.
  std::vector<std::string> trainable = {"*"}, fixed;
  /// The initialization of parameters whose data file is missing: pytorch (each
  /// as PyTorch's layer of its kind), or kaiming_uniform, xavier_uniform,
  /// normal or zeros for matrices and kernels; empty: a missing file is an
  /// error.
  std::string initialize;
  /// Attached to the program as it is; may be null.
  mlir::DictionaryAttr recipe;
  /// The model in memory, in place of its file; it must live as long as the
  /// program. Its data files are beside the path or, without a folder, nowhere.
  std::optional<llvm::StringRef> bytes;
  bool hasFolder = true;
  /// Data files of a model in memory that are there, too, by the names that the
  /// model has for them.
  std::map<std::string, llvm::StringRef> dataFiles;
};

} // namespace gradus
