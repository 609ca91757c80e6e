// Finds nests that differ only in the offsets of their buffers, above all the
// steps of a recurrent layer. Their machine code is emitted once and called.
#pragma once

#include "codegen/plan/nest_access.h"

#include <optional>
#include <unordered_map>

namespace gradus {

/// Whether a kernel runs each nest on all items before the next nest, rather
/// than all nests item by item.
bool takesItemsTogether(plan::KernelOp kernel);

/// The form that equal nests share. Their accesses count from a pointer for
/// each access; the offset that is kept only tells its alignment.
struct SharedNest {
  Nest nest;
  bool oneItem = false;

  /// A nest as it is, whose code does not depend on the number of items if it
  /// runs on one at a time.
  static SharedNest of(plan::NestOp op, plan::Split split, bool oneItem);

  bool operator==(const SharedNest &other) const;
  size_t hash() const;
};

/// Groups the equal nests of some kernels.
class SharedNests {
public:
  /// Groups all nests but those that `isLeftOut`.
  explicit SharedNests(
      llvm::ArrayRef<plan::KernelOp> kernels,
      llvm::function_ref<bool(plan::NestOp)> isLeftOut = nullptr);

  /// The number of the function to call for a nest, or nothing if the code is
  /// emitted inline: for a nest that occurs once, or that runs item by item and
  /// occurs only a few times in its kernel.
  std::optional<unsigned> find(plan::NestOp op) const;
  const SharedNest &operator[](unsigned number) const { return all_[number]; }
  /// The numbers of all functions in order.
  llvm::SmallVector<unsigned> functions() const;

private:
  void add(plan::NestOp op, plan::Split split, bool together);
  unsigned numberOf(SharedNest shared);

  std::vector<SharedNest> all_;
  std::unordered_map<size_t, llvm::SmallVector<unsigned, 1>> byHash_;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers_;
  llvm::DenseSet<mlir::Operation *> shared_;
};

} // namespace gradus
