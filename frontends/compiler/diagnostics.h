// MLIR's diagnostics as lines of text, in the model's terms.
#pragma once

#include "frontends/compiler/compiler.h"

#include "mlir/IR/Diagnostics.h"

#include "absl/status/status.h"

#include <string>
#include <vector>

namespace gradus::compiler {

/// Collects the diagnostics of the context during its lifetime.
class Diagnostics {
public:
  /// `model` is the file name that precedes errors; `tell`, which may be empty,
  /// is told of each diagnostic.
  Diagnostics(mlir::MLIRContext &context, std::string model,
              std::function<void(const ModelDiagnostic &)> tell = {});

  bool hasErrors() const { return !errors_.empty(); }
  /// Returns the errors so far, one a line, as a mistake of the user;
  /// `otherwise` if there is none.
  absl::Status error(const std::string &otherwise) const;
  const std::vector<std::string> &warnings() const { return warnings_; }

private:
  void add(mlir::Diagnostic &diagnostic);

  std::string model_;
  std::function<void(const ModelDiagnostic &)> tell_;
  std::vector<std::string> errors_, warnings_;
  mlir::ScopedDiagnosticHandler handler_;
};

/// Returns "node \"/conv1/Conv\"" or "file.mlir:3:5"; empty if the location is
/// unknown.
std::string placeOf(mlir::Location location);

} // namespace gradus::compiler
