// Lets a layer above this one check the recipes of programs: the verifier of
// gradus.program asks what is registered here. ir/ itself knows no keys.
#pragma once

#include "ir/gradus.h"

#include "mlir/IR/DialectInterface.h"

namespace gradus {

class RecipeCheck : public mlir::DialectInterface::Base<RecipeCheck> {
public:
  explicit RecipeCheck(mlir::Dialect *dialect) : Base(dialect) {}
  virtual ~RecipeCheck() = default;

  /// Fails, with errors at the program, where its recipe has mistakes.
  virtual llvm::LogicalResult check(ProgramOp program) const = 0;
};

} // namespace gradus
