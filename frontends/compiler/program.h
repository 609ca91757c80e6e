// A model file and a recipe become a program, ready for the passes.
#pragma once

#include "frontends/compiler/compiler.h"
#include "frontends/recipe/recipe.h"
#include "ir/gradus.h"

#include "mlir/IR/OwningOpRef.h"

namespace gradus::compiler {

struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string recipe;      // as JSON, with all defaults
  bool afterModel = false; // whether the stage `model` has run
};

/// Whether the request's model is ONNX, or a program as text; neither, if it is
/// an artifact or a file of another kind.
bool isOnnx(const Request &request);
bool isText(const Request &request);

/// Adds --memory-limit to what is set over a recipe.
void addMemoryLimit(const Request &request, recipe::Overrides &overrides);

/// Whether the request says anything of a recipe, which then stands in the
/// place of the one in a program's text.
bool saysRecipe(const Request &request);

/// Reads the recipe of the request with all that it sets over the file.
absl::StatusOr<recipe::Recipe> readRecipe(const Request &request);

/// Reads the model (.onnx or .mlir) with the recipe, overrides and weights of
/// the request. Details of errors in text are in the context's diagnostics.
absl::StatusOr<Program> readProgram(const Request &request,
                                    mlir::MLIRContext &context);

/// Adds what an .onnx file holds for training, whether it compiles or not.
absl::Status addInventory(const Request &request, ModelInfo &info);

} // namespace gradus::compiler
