// Notes on how training treats nodes of the file, for the user: on those in
// inference form, and on those that stop the gradient.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

#include <optional>

namespace gradus::onnx {

/// A number of a recipe, which may be null; nothing if the key is not set.
std::optional<double> numberOf(mlir::DictionaryAttr recipe,
                               llvm::StringRef key);

class TrainingNotes {
public:
  /// Counts a batch normalization in inference form.
  void addBatchNorm() { ++batchNorms_; }
  /// Counts a dropout in inference form, with its stated ratio.
  void addDropout(std::optional<double> ratio) {
    idleDropouts_ += !ratio;
    dropouts_ += ratio.value_or(0) > 0;
  }
  /// Counts a value that is rounded to integers and passes no gradient.
  void addRounding() { ++roundings_; }

  /// Warns in a line each, unless the recipe, which may be null, says no loss
  /// or what to do.
  void tell(mlir::DictionaryAttr recipe) const;

private:
  void tellBatchNorms(mlir::DictionaryAttr recipe) const;
  void tellDropouts(mlir::DictionaryAttr recipe) const;
  void tellRoundings(mlir::DictionaryAttr recipe) const;

  int batchNorms_ = 0, dropouts_ = 0, idleDropouts_ = 0, roundings_ = 0;
};

} // namespace gradus::onnx
