// Counts (not measurements) of a program's graphs for reports: ops, FLOPs,
// bytes.
#pragma once

#include "frontends/compiler/compiler.h"
#include "ir/gradus.h"

namespace gradus::compiler {

/// Multiplications and additions of one op; an elementwise op counts one for
/// each element.
int64_t flopsOf(mlir::Operation &op);

/// The ops of a graph by name, most expensive first.
std::vector<OpCount> countOps(GraphOp graph);

/// Ops, FLOPs and bytes of a graph in any dialect.
GraphCount countGraph(GraphOp graph);

/// All graphs and states of a program.
ProgramCount countProgram(ProgramOp program);

/// Statistics of the graph `predict`.
ModelInfo modelInfo(ProgramOp program);

/// The header above the lines of a report.
std::string reportHeader();

/// A line per graph: ops, FLOPs, bytes of all its values and of the state.
std::string reportLines(llvm::StringRef stage, mlir::ModuleOp module);

} // namespace gradus::compiler
