// Nests that say the same but for where their buffers begin: the steps of a
// recurrent layer above all. Machine code of them is made once and called.
#pragma once

#include "codegen/nest_access.h"

#include <optional>
#include <unordered_map>

namespace gradus {

/// Whether a kernel runs each of its nests on all items at once, and not all
/// nests on one item after the other.
bool takesItemsTogether(plan::KernelOp kernel);

/// What equal nests have in common. Places count from a pointer for each
/// access; what is left of an offset says how it is aligned.
struct SharedNest {
  Nest nest;
  bool oneItem = false;

  bool operator==(const SharedNest &other) const;
};

/// The equal nests of some kernels.
class SharedNests {
public:
  explicit SharedNests(llvm::ArrayRef<plan::KernelOp> kernels);

  /// The number of what is worth a function of its own; none for a nest that
  /// there is once, or that one item after the other runs and that is not often
  /// in its kernel.
  std::optional<unsigned> find(plan::NestOp op) const;
  const SharedNest &operator[](unsigned number) const { return all[number]; }
  /// The numbers of all that is, in order.
  llvm::SmallVector<unsigned> functions() const;

private:
  void add(plan::NestOp op, plan::Split split, bool together);
  unsigned numberOf(SharedNest shared);

  std::vector<SharedNest> all;
  std::unordered_map<size_t, llvm::SmallVector<unsigned, 1>> byHash;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  llvm::DenseSet<mlir::Operation *> shared;
};

} // namespace gradus
