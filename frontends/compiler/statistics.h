// What a program's graphs hold and cost, for people: counted, not measured.
#pragma once

#include "frontends/compiler/compiler.h"
#include "ir/gradus.h"

namespace gradus::compiler {

/// Multiplications and additions of one op; for elementwise ops one per
/// element.
int64_t flopsOf(mlir::Operation &op);

/// The ops of a graph by name, most expensive first.
std::vector<OpCount> countOps(GraphOp graph);

/// Ops, FLOPs and bytes of a graph, in whatever form its ops are.
GraphCount countGraph(GraphOp graph);

/// All graphs and states of a program.
ProgramCount countProgram(ProgramOp program);

/// What the graph `predict` of a program holds.
ModelInfo modelInfo(ProgramOp program);

/// What stands above the lines of a report.
std::string reportHeader();

/// A line per graph: ops, FLOPs, bytes of all its values and of the state.
std::string reportLines(llvm::StringRef stage, mlir::ModuleOp module);

} // namespace gradus::compiler
