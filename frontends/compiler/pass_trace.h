// Records what each pass did to the program, in the order of execution.
#pragma once

#include "codegen/compile.h"
#include "frontends/compiler/compiler.h"

#include "llvm/ADT/DenseMap.h"

#include <chrono>
#include <memory>

namespace gradus::compiler {

/// Counts the program before and after each pass, measures the time and
/// collects the remarks of one compilation's context.
class PassTrace final : public PassWatcher {
public:
  explicit PassTrace(mlir::MLIRContext &context);

  void stageAdded(llvm::StringRef stage, mlir::OpPassManager &program) override;
  void watch(mlir::PassManager &manager) override;

  const Trace &trace() const { return *trace_; }

private:
  class Instrumentation;

  llvm::DenseMap<mlir::Pass *, std::string> stages_;
  std::shared_ptr<Trace> trace_ = std::make_shared<Trace>();
};

} // namespace gradus::compiler
