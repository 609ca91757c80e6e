// Where every value of a program lies while it runs: state, arena, constants.
#pragma once

#include "codegen/liveness.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace gradus {

enum class MemoryRegion { state, arena, constants };

/// Where a value lies: bytes from the start of its region.
struct Place {
  MemoryRegion region = MemoryRegion::arena;
  int64_t offset = 0;
};

/// A copy of a whole buffer at the end of a step.
struct FinalCopy {
  mlir::Value source;
  std::string state;
};

struct GraphMemory {
  llvm::DenseMap<mlir::Value, Place>
      places; // inputs, results, reads, constants
  llvm::DenseMap<mlir::Operation *, int64_t> scratch; // arena offset
  /// Old values of states that are returned or written elsewhere: copied to
  /// these arena offsets when all commands have run, before `copies`.
  llvm::MapVector<mlir::Value, int64_t> snapshots;
  std::vector<FinalCopy> copies; // states that could not be updated in place
  int64_t arena = 0;             // bytes
  int64_t bound = 0;             // largest sum of live bytes, 64-byte rounding

  /// The place of a value or of what it reshapes.
  Place at(mlir::Value value) const { return places.lookup(storageOf(value)); }
};

struct StatePlaces {
  llvm::StringMap<int64_t> offsets;
  int64_t bytes = 0;
};

/// Constants are laid one after the other; equal ones once.
struct ConstantPlaces {
  llvm::DenseMap<mlir::Attribute, int64_t> offsets;
  std::vector<mlir::DenseElementsAttr> order;
  int64_t bytes = 0;
};

StatePlaces placeStates(ProgramOp program);
/// Adds the constants of a graph to those that have a place.
void placeConstants(GraphOp graph, ConstantPlaces &constants);

/// Places the values of a scheduled graph. A command's result takes over an
/// operand's memory where its kernel allows it and nothing reads the operand
/// later; a state's new value is made where the state lies if the old value is
/// not needed any more, else it is copied at the end. The graph's constants
/// have places.
GraphMemory planMemory(GraphOp graph, const StatePlaces &states,
                       const ConstantPlaces &constants);

} // namespace gradus
