// Tells which values of a graph need memory, and during which commands.
//
// A command is an op with the interface plan::Command; commands are numbered in
// the order of the graph. A value is the result of a command or an input of the
// graph; reshapes and parts of ranks are other names of it.
#pragma once

#include "codegen/plan/plan.h"

#include "llvm/ADT/DenseMap.h"

namespace gradus {

/// Bytes of a tensor, a whole number of cache lines (64).
int64_t paddedBytes(mlir::Type tensor);
/// Bytes of a tensor's elements; a boolean has one byte.
int64_t tensorBytes(mlir::Type tensor);

/// The value whose memory `value` uses: sees through reshapes and parts.
mlir::Value storageOf(mlir::Value value);
/// The number of parts into which a tensor falls, if a value is a rank's part
/// of it and lies in its memory; else 0. They may be fewer than the ranks.
int64_t partsAt(mlir::Value value);
/// The bytes of memory of a value of which no other is a name, a whole number
/// of cache lines: there is room for all parts of ranks in it.
int64_t roomOf(mlir::Value value);

/// Returns the commands of a graph, in order.
llvm::SmallVector<mlir::Operation *> commandsOf(GraphOp graph);

/// Returns the bytes of scratch, in whole cache lines, that a command needs
/// while it runs.
int64_t scratchBytes(mlir::Operation *command);

/// A half-open range of commands over which a value is alive.
struct LiveRange {
  int64_t begin; // its command; 0 for inputs
  int64_t end;   // one past the last command that reads it
};

/// The live ranges of inputs and command results in the given order; values
/// that the graph returns or writes are read by one more command after the
/// last.
llvm::MapVector<mlir::Value, LiveRange>
liveRanges(GraphOp graph, llvm::ArrayRef<mlir::Operation *> commands);

/// The command at which most bytes are live, scratch included; new values of
/// states count as if they were written to the states' own memory.
struct Peak {
  size_t command = 0;
  int64_t bytes = 0;
};
Peak peakOf(GraphOp graph, llvm::ArrayRef<mlir::Operation *> commands);

} // namespace gradus
