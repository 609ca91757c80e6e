// Programs written as text, for tests.
#pragma once

#include "codegen/plan/plan.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace gradus {

/// A parsed program with the context it lives in.
struct ProgramText {
  /// `registry` may have dialects of a test's own.
  explicit ProgramText(llvm::StringRef text, mlir::DialectRegistry registry =
                                                 mlir::DialectRegistry()) {
    registerDialects(registry);
    registry.insert<plan::PlanDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << "the program does not parse";
  }

  ProgramOp program() { return *module->getOps<ProgramOp>().begin(); }
  GraphOp graph(llvm::StringRef name) { return program().getGraph(name); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace gradus
