// Reads an ONNX model into a gradus.program with one graph, @predict.
//
// Float initializers of rank one or more that the graph computes with become
// states: parameters where `trainable` and not `fixed` names them, buffers
// otherwise. Scalars, integers, booleans and everything in `Constant` nodes are
// constants. Arithmetic on constants and on static shapes is computed here and
// never goes through a state. All dimensions are static afterwards.
//
// Locations are the model's node names, or the op and its number in the file if
// a node has no name. Errors are in the model's terms, after the file's name.

#pragma once

#include "frontends/onnx/importer/import_options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "absl/status/statusor.h"

#include <string>

namespace gradus {

/// Reads the model at `path`, or the bytes in its place. The context needs the
/// dialects of gradus::registerDialects.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>>
importOnnx(const std::string &path, const ImportOptions &options,
           mlir::MLIRContext &context);

} // namespace gradus
