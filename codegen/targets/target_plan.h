// The plan of a program for a target: the commands of its graphs, the memory of
// their values, and the code of their kernels.
#pragma once

#include "codegen/cpu/emitter.h"
#include "codegen/memory/memory_plan.h"
#include "codegen/targets/target.h"

#include <memory>
#include <vector>

namespace gradus {

/// A program as commands. Targets with equal models share one.
struct PlannedProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module; // empty: owned by others
  std::vector<GraphOp> graphs;              // in the program's order
  std::vector<GraphMemory> memory;          // of each graph
  std::vector<plan::KernelOp> kernels;
};

struct TargetPlan {
  Target target;
  std::shared_ptr<const PlannedProgram> program;
  std::variant<CpuCode, GpuImages> code; // of `program->kernels`

  /// The bytes of code that one device loads.
  int64_t codeBytes() const;
};

} // namespace gradus
