// Which values of a graph need memory, and from which command to which.
//
// A command is an op with the interface plan::Command; commands are numbered in
// the order of the graph. A value is the result of a command or an input of the
// graph; reshapes are other names of the value they reshape.
#pragma once

#include "codegen/plan.h"

#include "llvm/ADT/DenseMap.h"

namespace gradus {

/// Bytes of a tensor, a whole number of cache lines (64).
int64_t paddedBytes(mlir::Type tensor);
/// Bytes of a tensor's elements; a boolean takes one.
int64_t tensorBytes(mlir::Type tensor);

/// The value whose memory `value` is: sees through reshapes.
mlir::Value storageOf(mlir::Value value);

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

/// Live ranges of inputs and command results in the given order; what the
/// graph returns or writes is read by one more command, behind the last.
llvm::MapVector<mlir::Value, LiveRange>
liveRanges(GraphOp graph, llvm::ArrayRef<mlir::Operation *> commands);

/// Where most bytes are alive, scratch included; new values of states count as
/// made in the states' own memory.
struct Peak {
  size_t command = 0;
  int64_t bytes = 0;
};
Peak peakOf(GraphOp graph, llvm::ArrayRef<mlir::Operation *> commands);

} // namespace gradus
