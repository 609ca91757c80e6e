// Finds elementwise nests of many ops that do the same at each position,
// whatever their extents and however far apart the elements are that a position
// reads and writes: so are the transforms of Winograd's algorithm in layers of
// all sizes. What they do at a position becomes a function, which their loops
// call.
#pragma once

#include "codegen/cpu/builder.h"
#include "codegen/cpu/tiling.h"

#include "llvm/IR/Module.h"

#include <optional>

namespace gradus {

/// An input, or with a number behind those of the inputs an output.
inline const Access &accessOf(const Nest &nest, unsigned number) {
  size_t inputs = nest.inputs.size();
  return number < inputs ? nest.inputs[number] : nest.outputs[number - inputs];
}

/// The code of a nest at a position, or a vector of these. Accesses that move
/// alike count from the first of them, whose address is an argument.
struct PointForm {
  struct Element {
    mlir::Type type;
    unsigned pointer = 0; // the number of the argument
    bool isVector = false;
    int64_t offset = 0; // bytes from the pointer; differs among equal forms
  };

  Nest nest;
  unsigned lanes = 1;
  llvm::SmallVector<Element> elements; // of the inputs, then of the outputs
  llvm::SmallVector<unsigned> firsts;  // the number of each pointer's element
  /// The pointer whose elements a call also asks for at a position ahead, so
  /// that they are in the cache by then; -1: none.
  int asked = -1;

  /// Nothing: the nest's code is better emitted in its loops.
  static std::optional<PointForm> of(const Nest &nest, const Tiling &tiling);

  bool operator==(const PointForm &other) const; // but for offsets
  size_t hash() const;
};

/// A call for a position of a nest: of `function`, with a table of distances
/// and the addresses of some accesses, which are numbered as in PointForm. If
/// one is `asked` for, the bytes from it to that of a position ahead follow.
struct PointCall {
  llvm::Function *function;
  llvm::Constant *table;
  llvm::SmallVector<unsigned> firsts;
  const Access *asked = nullptr;
};

/// Groups equal forms. A function serves a group; of its elements' distances
/// those that are the same in all nests are part of the code, and a table that
/// each nest has for itself holds the others.
class SharedPoints {
public:
  SharedPoints(llvm::ArrayRef<plan::KernelOp> kernels, const CpuTarget &target);

  /// The number of the function that a nest calls; nothing: it is not shared.
  std::optional<unsigned> find(plan::NestOp op) const;
  /// The numbers of all functions in order.
  llvm::SmallVector<unsigned> functions() const;
  /// A nest that calls it.
  plan::NestOp example(unsigned number) const {
    return groups_[number].form.nest.op;
  }

  /// Declares a function in the module of a builder.
  llvm::Function *declare(unsigned number, CpuBuilder &builder,
                          llvm::Module &module) const;
  void emit(unsigned number, CpuBuilder &builder,
            llvm::Function &function) const;
  /// Returns the call that a nest makes; its table is made in the function's
  /// module.
  PointCall call(unsigned number, const PointForm &form, const Nest &nest,
                 llvm::Function *function) const;

private:
  struct Group {
    PointForm form;
    unsigned nests = 1;
    /// The bytes from the element before that has the same pointer; nothing:
    /// they are in the table.
    llvm::SmallVector<std::optional<int64_t>> steps;
  };

  void add(plan::NestOp op, PointForm form);

  std::vector<Group> groups_;
  llvm::DenseMap<size_t, llvm::SmallVector<unsigned, 1>> byHash_;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers_;
};

} // namespace gradus
