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

Diagnostics::Diagnostics(MLIRContext &context, std::string model)
    : model_(std::move(model)),
      handler_(&context, [this](Diagnostic &diagnostic) {
        add(diagnostic);
        return success();
      }) {}

void Diagnostics::add(Diagnostic &diagnostic) {
  std::string place = placeOf(diagnostic.getLocation());
  std::string line = message(model_, ": ", place, place.empty() ? "" : ": ",
                             printableLines(diagnostic.str()));
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
    errors_.push_back(line);
  else if (diagnostic.getSeverity() == DiagnosticSeverity::Warning &&
           !llvm::is_contained(warnings_, line)) // A report runs stages again.
    warnings_.push_back(line);
}

absl::Status Diagnostics::error(const std::string &otherwise) const {
  return absl::InvalidArgumentError(errors_.empty()
                                        ? message(model_, ": ", otherwise)
                                        : joined(errors_, "\n  "));
}

} // namespace gradus::compiler
