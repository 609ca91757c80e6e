// Reads and writes the elements of a nest: single ones, vectors and gathers,
// with guards and masks.
#pragma once

#include "codegen/cpu/builder.h"
#include "codegen/plan/nest_access.h"

#include <map>

namespace gradus {

/// One of the positions that are computed together, as its offset along each
/// dimension from the position of the loops.
struct Instance {
  llvm::SmallVector<int64_t> offset;
  llvm::Value *mask = nullptr; // the active lanes; null: all
  int64_t lanes = -1; // only the first are active; -1: all, 0: see mask
};

/// The position of the loops of a nest.
struct Position {
  llvm::SmallVector<llvm::Value *> base; // i64, one a dimension
  int vectorDim = -1;                    // the dimension of the lanes
  unsigned lanes = 1;
  llvm::ArrayRef<int64_t> sizes; // of the tile, one a dimension
};

/// Returns the start of an access's buffer.
using PointerOf = llvm::function_ref<llvm::Value *(const Access &)>;

class NestMemory {
public:
  NestMemory(CpuBuilder &builder, const Nest &nest, const Position &position,
             PointerOf pointerOf);

  /// Loads the element of input `i`: a scalar if all lanes read the same, else
  /// a vector.
  llvm::Value *load(unsigned i, const Instance &at);
  /// Stores the elements of all outputs.
  void store(const Instance &at, llvm::ArrayRef<llvm::Value *> values);
  /// The position along a dimension as i64.
  llvm::Value *index(unsigned dim, const Instance &at);
  /// The address of an access in lane 0.
  llvm::Value *address(const Access &access, const Instance &at);
  /// Drops the cached reads after a loop has moved.
  void forget();
  /// Reads the inputs that depend only on `bound` dimensions, those of one
  /// vector among them, before the loops inside run; returns them for
  /// `release`.
  llvm::SmallVector<unsigned>
  hoist(llvm::function_ref<bool(unsigned dim)> bound, const Instance &at);
  void release(llvm::ArrayRef<unsigned> inputs);

private:
  bool isLane(unsigned dim) const {
    return position_.lanes > 1 && int(dim) == position_.vectorDim;
  }
  bool variesByLane(const Access &access) const;
  llvm::Value *uniformPart(const Linear &linear, const Instance &at);
  llvm::Value *lanePart(const Linear &linear, const Instance &at);
  llvm::Value *evaluate(const Linear &linear, const Instance &at);
  llvm::Value *evaluate(mlir::AffineExpr expression, const Instance &at);
  llvm::Value *holds(const Condition &condition, const Instance &at);
  llvm::Value *guard(const Access &access, const Instance &at);
  llvm::Value *addresses(const Access &access, const Instance &at);
  llvm::Value *mask(llvm::Value *guard, const Instance &at);
  llvm::Value *read(const Access &access, const Instance &at);
  llvm::Value *readOne(const Access &access, const Instance &at);
  llvm::Value *readLanes(const Access &access, const Instance &at);
  llvm::Value *readNext(const Access &access, const Instance &at);
  llvm::Value *readFirst(llvm::Type *type, llvm::Value *from, unsigned lanes,
                         int64_t present);
  llvm::Value *readStrided(const Access &access, const Instance &at,
                           int64_t by);
  llvm::Value *readRepeated(const Access &access, const Instance &at,
                            int64_t by);
  llvm::Value *gather(const Access &access, const Instance &at);
  llvm::Value *readTransposed(const Access &access, const Instance &at);
  unsigned interleaved(unsigned first, const Instance &at) const;
  void storeInterleaved(const Access &first, const Instance &at,
                        llvm::ArrayRef<llvm::Value *> values);
  void storeOne(unsigned i, const Instance &at, llvm::Value *value);

  CpuBuilder &b_;
  const Nest &nest_;
  const Position &position_;
  PointerOf pointerOf_;
  using Key = std::pair<unsigned, llvm::SmallVector<int64_t>>;
  std::map<Key, llvm::Value *> loaded_;
  /// The vectors of blocks that were transposed, by the position of the first.
  std::map<std::pair<const Access *, llvm::SmallVector<int64_t>>,
           llvm::SmallVector<llvm::Value *>>
      transposed_;
  llvm::DenseMap<const Linear *, llvm::Value *> bases_;
  llvm::DenseMap<unsigned, llvm::Value *> hoisted_;
};

} // namespace gradus
