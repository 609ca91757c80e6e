// States that passes add to a program, and their reads and writes.
#pragma once

#include "ir/gradus.h"

#include "llvm/ADT/StringMap.h"

namespace gradus {

/// An attribute of states that keep their first value: graphs only read them,
/// and checkpoints have a hash of them.
constexpr llvm::StringLiteral kFixed = "fixed";

/// An attribute of states that are a rank's part of a tensor: its type, which
/// checkpoints have.
constexpr llvm::StringLiteral kPartOf = "part_of";

/// The states of a program by name. No other object may add states meanwhile.
class States {
public:
  explicit States(ProgramOp program);

  /// Returns null if there is none.
  StateOp find(llvm::StringRef name) const { return byName_.lookup(name); }

  /// Whether numbers of the recipe are states (passes/numbers.h).
  bool isSettable() const { return isSettable_; }

  /// Adds a state after the program's last one, unless it is there; all its
  /// elements start at `initial`. One of that name with another type or role is
  /// an error: it is the model's.
  mlir::LogicalResult ensure(llvm::StringRef name, mlir::RankedTensorType type,
                             Role role, double initial = 0);

private:
  ProgramOp program_;
  llvm::StringMap<StateOp> byName_;
  StateOp last_;
  bool isSettable_;
};

/// Adds a single state in the same way.
mlir::LogicalResult ensureState(ProgramOp program, llvm::StringRef name,
                                mlir::RankedTensorType type, Role role,
                                double initial = 0);

/// Makes all elements of a state that a pass has added start at `initial`.
void setInitial(StateOp state, double initial);

/// Removes a state from the program if no graph reads or writes it. The program
/// remembers the names of removed parameters.
void dropIfUnused(ProgramOp program, llvm::StringRef name);
llvm::SmallVector<llvm::StringRef> takenOut(ProgramOp program);

mlir::Value readState(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::StringRef name, mlir::RankedTensorType type);
void writeState(mlir::OpBuilder &builder, mlir::Location loc,
                llvm::StringRef name, mlir::Value value);

} // namespace gradus
