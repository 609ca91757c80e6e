// Programs written as text, for the tests of passes.
#pragma once

#include "ir/evaluator/evaluator.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace gradus::testing {

/// A parsed program with the context it lives in, and what was said about it.
struct PassText {
  explicit PassText(llvm::StringRef text)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          messages += diagnostic.str() + "\n";
          return mlir::success();
        }) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << "the program does not parse: " << messages;
  }
  ProgramOp program() { return *module->getOps<ProgramOp>().begin(); }

  mlir::MLIRContext context;
  std::string messages;
  mlir::ScopedDiagnosticHandler handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace gradus::testing
