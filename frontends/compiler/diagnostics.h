// MLIR's diagnostics as lines of text, in the model's terms.
#pragma once

#include "mlir/IR/Diagnostics.h"

#include "absl/status/status.h"

#include <string>
#include <vector>

namespace gradus::compiler {

/// Collects what the context says while this lives.
class Diagnostics {
public:
  /// `model` is the file that errors stand behind.
  Diagnostics(mlir::MLIRContext &context, std::string model);

  bool hasErrors() const { return !errors_.empty(); }
  /// The errors so far, one a line, as a mistake of the user; `otherwise` where
  /// there is none.
  absl::Status error(const std::string &otherwise) const;
  const std::vector<std::string> &warnings() const { return warnings_; }

private:
  void add(mlir::Diagnostic &diagnostic);

  std::string model_;
  std::vector<std::string> errors_, warnings_;
  mlir::ScopedDiagnosticHandler handler_;
};

/// "node \"/conv1/Conv\"" or "file.mlir:3:5", and nothing where unknown.
std::string placeOf(mlir::Location location);

} // namespace gradus::compiler
