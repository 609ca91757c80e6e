// Reorders between row-major order and blocks of the first two dimensions, as
// oneDNN's convolutions have them for weights and for channels that fill no
// blocks. oneDNN's own reorders of these write, or read, a few bytes of each
// cache line at a time: 5 to 20 GB/s, and less where rows are a power of two
// apart.

#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/cpu/thread_pool.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace gradus::runtime {

class BlockReorder {
public:
  /// Makes one for a verified command. Nothing if it is no such reorder, or one
  /// that oneDNN does as fast.
  static std::optional<BlockReorder>
  create(const artifact::LibraryCommand &command);

  /// Copies; the elements of blocks that are behind the last of the tensor
  /// become 0.
  void run(const uint8_t *from, uint8_t *to, ThreadPool &pool) const;

private:
  /// A matrix of a unit, which is transposed: its first row and column in their
  /// dimensions, and where it begins in the blocked unit.
  struct Piece {
    std::array<int64_t, 2> first;
    int64_t begin;
  };

  bool describe(const artifact::LibraryTensor &plain,
                const artifact::LibraryTensor &blocked);
  void joinPairs(std::vector<int64_t> &blocks, std::vector<int64_t> &axes);
  bool isFaster() const;
  int64_t bytesOfUnit() const {
    return blocks_[0] * blocks_[1] * pixels_ * int64_t(bytes_);
  }
  void cut(const std::vector<int64_t> &blocks,
           const std::vector<int64_t> &axes);
  template <bool intoBlocks, typename Element>
  void reorderUnit(int64_t unit, Element *plain, Element *blocked) const;
  template <bool intoBlocks, typename Element>
  void reorderAll(Element *plain, Element *blocked, ThreadPool &pool) const;

  bool intoBlocks_ = false;
  size_t bytes_ = 0;                // of an element
  std::array<int64_t, 2> dims_{};   // the sizes of both dimensions,
  std::array<int64_t, 2> blocks_{}; // of their blocks,
  std::array<int64_t, 2> counts_{}; // and how many blocks there are
  std::array<int64_t, 2> steps_{};  // from block to block, in elements
  int64_t pixels_ = 1;              // the elements behind them
  size_t laneAxis_ = 0;             // whose elements are next to each other
  int64_t lanes_ = 1;               // the number of these
  bool hasColumnsOfAxis1_ = false;  // columns are of axis 1, else pixels
  int64_t columnStep_ = 1;          // in a blocked unit
  std::vector<Piece> pieces_;       // of each unit
};

} // namespace gradus::runtime
