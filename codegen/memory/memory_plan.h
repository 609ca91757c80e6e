// Assigns memory to all values of a program: state, arena, constants.
#pragma once

#include "codegen/memory/liveness.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace gradus {

enum class MemoryRegion { state, arena, constants };

/// The memory of a value, as an offset in bytes from the start of its region.
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
  /// Old values of states that are returned or written elsewhere: they are
  /// copied to these arena offsets after all commands, before `copies`.
  llvm::MapVector<mlir::Value, int64_t> snapshots;
  std::vector<FinalCopy> copies; // states that could not be updated in place
  int64_t arena = 0;             // bytes
  int64_t bound = 0;             // largest sum of live bytes, 64-byte rounding

  /// The memory of a value; a reshape shares its input's.
  Place at(mlir::Value value) const { return places.lookup(storageOf(value)); }
};

struct StatePlaces {
  llvm::StringMap<int64_t> offsets;
  int64_t bytes = 0;
};

/// Offsets of constants, one after another; equal ones share an offset.
struct ConstantPlaces {
  llvm::DenseMap<mlir::Attribute, int64_t> offsets;
  std::vector<mlir::DenseElementsAttr> order;
  int64_t bytes = 0;
};

StatePlaces placeStates(ProgramOp program);
/// Assigns offsets to the constants of a graph that have none yet.
void placeConstants(GraphOp graph, ConstantPlaces &constants);

/// Assigns memory to the values of a scheduled graph. A command's result reuses
/// an operand's memory if its kernel allows it and nothing reads the operand
/// later. The operands of a plan.start lie one after the other, each in whole
/// cache lines. A state's new value is written to the state's memory if the old
/// value is not needed any more, else it is copied there at the end. The
/// graph's constants must have offsets.
GraphMemory planMemory(GraphOp graph, const StatePlaces &states,
                       const ConstantPlaces &constants);

} // namespace gradus
