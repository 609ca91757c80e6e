// The options of an import, for the reader of a model and its handlers of ops.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

#include <cstdint>
#include <map>
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
};

} // namespace gradus
