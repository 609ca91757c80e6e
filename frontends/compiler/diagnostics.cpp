// Turns a diagnostic into a line: file, location, message.

#include "frontends/compiler/diagnostics.h"

#include "messages/message.h"
#include "messages/printable.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

using namespace mlir;

namespace gradus::compiler {

std::string placeOf(Location location) {
  if (auto named = dyn_cast<NameLoc>(location))
    return "node \"" + printable(named.getName().getValue()) + "\"";
  if (auto file = dyn_cast<FileLineColLoc>(location); file && file.getLine())
    return message("line ", file.getLine(), ":", file.getColumn());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string place = placeOf(part); !place.empty())
        return place;
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return placeOf(call.getCallee());
  return "";
}

Diagnostics::Diagnostics(MLIRContext &context, std::string model,
                         std::function<void(const ModelDiagnostic &)> tell)
    : model_(std::move(model)), tell_(std::move(tell)),
      handler_(&context, [this](Diagnostic &diagnostic) {
        add(diagnostic);
        return success();
      }) {}

void Diagnostics::add(Diagnostic &diagnostic) {
  ModelDiagnostic told{diagnostic.getSeverity() == DiagnosticSeverity::Error,
                       placeOf(diagnostic.getLocation()),
                       printableLines(diagnostic.str())};
  if (!told.isError && diagnostic.getSeverity() != DiagnosticSeverity::Warning)
    return;
  std::string line = message(model_, ": ", told.place,
                             told.place.empty() ? "" : ": ", told.text);
  std::vector<std::string> &lines = told.isError ? errors_ : warnings_;
  if (!told.isError && llvm::is_contained(lines, line))
    return; // A report runs stages again.
  lines.push_back(line);
  if (tell_)
    tell_(told);
}

absl::Status Diagnostics::error(const std::string &otherwise) const {
  return absl::InvalidArgumentError(errors_.empty()
                                        ? message(model_, ": ", otherwise)
                                        : joined(errors_, "\n  "));
}

} // namespace gradus::compiler
