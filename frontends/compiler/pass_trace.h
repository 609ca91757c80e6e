// What each pass made of the program, in the order in which they ran.
#pragma once

#include "codegen/compile.h"
#include "frontends/compiler/compiler.h"

#include "llvm/ADT/DenseMap.h"

#include <chrono>
#include <memory>

namespace gradus::compiler {

/// Counts the program before and after every pass, takes its time and collects
/// the remarks. One compilation: its context tells the remarks.
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
