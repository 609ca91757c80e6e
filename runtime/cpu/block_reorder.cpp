// A unit of work is one block of both dimensions, with all pixels behind it:
// one piece of the blocked tensor, and some rows of the plain one. It consists
// of matrices whose rows are in the order of memory in the plain tensor, and
// whose columns are in the blocked one: so it is transposed, 4 by 4 elements at
// a time.

#include "runtime/cpu/block_reorder.h"

#include "runtime/flat.h"

#include <algorithm>
#include <cstring>

namespace gradus::runtime {

using artifact::LibraryTensor;
using Sizes = std::vector<int64_t>;

static constexpr int64_t kSmallBytes = 64 << 10;

//===-- which reorders ----------------------------------------------------===//

static int64_t productFrom(const Sizes &sizes, size_t first) {
  int64_t product = 1;
  for (size_t i = first; i < sizes.size(); ++i)
    product *= sizes[i];
  return product;
}

/// Whether dimensions from `first` on are in row-major order, with `step`
/// elements from one of the last to the next.
static bool isDenseFrom(size_t first, const Sizes &dims, const Sizes &strides,
                        int64_t step) {
  for (size_t i = dims.size(); i-- > first;) {
    if (dims[i] > 1 && strides[i] != step)
      return false;
    step *= dims[i];
  }
  return true;
}

static bool isRowMajor(const LibraryTensor &tensor) {
  Sizes dims = valuesOf(tensor.dims());
  return countOf(tensor.inner_blocks()) == 0 &&
         (countOf(tensor.padded_dims()) == 0 ||
          valuesOf(tensor.padded_dims()) == dims) &&
         (countOf(tensor.strides()) == 0 ||
          isDenseFrom(0, dims, valuesOf(tensor.strides()), 1));
}

/// The sizes, blocks and steps of a tensor; whether they are as expected: a
/// tensor without gaps, whose pixels are in order behind its first dimensions.
bool BlockReorder::describe(const LibraryTensor &plain,
                            const LibraryTensor &blocked) {
  Sizes dims = valuesOf(blocked.dims()), strides = valuesOf(blocked.strides()),
        padded = valuesOf(blocked.padded_dims()),
        blocks = valuesOf(blocked.inner_blocks()),
        axes = valuesOf(blocked.inner_axes());
  if (dims.size() < 3 || strides.empty() || blocks.empty() ||
      plain.dtype() != blocked.dtype())
    return false;
  if (padded.empty())
    padded = dims;
  blocks_ = {1, 1};
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (axes[i] > 1)
      return false;
    blocks_[size_t(axes[i])] *= blocks[i];
  }
  for (size_t axis = 0; axis < 2; ++axis) {
    dims_[axis] = dims[axis];
    counts_[axis] = (dims[axis] + blocks_[axis] - 1) / blocks_[axis];
    steps_[axis] = strides[axis];
    if (padded[axis] != counts_[axis] * blocks_[axis])
      return false;
  }
  pixels_ = productFrom(dims, 2);
  bytes_ = bytesOf(plain.dtype());
  int64_t inner = blocks_[0] * blocks_[1], unit = pixels_ * inner;
  constexpr int64_t mostInner = 4096; // more than any library has
  if (inner > mostInner ||
      !std::equal(dims.begin() + 2, dims.end(), padded.begin() + 2) ||
      !isDenseFrom(2, dims, strides, inner))
    return false;
  // A dimension of one block has no step.
  auto follows = [&](size_t outer, size_t other) {
    return (counts_[other] == 1 || steps_[other] == unit) &&
           (counts_[outer] == 1 || steps_[outer] == counts_[other] * unit);
  };
  if (!follows(0, 1) && !follows(1, 0))
    return false;
  joinPairs(blocks, axes);
  cut(blocks, axes);
  return true;
}

/// Pairs of 16 bits that are next to each other in both tensors are one element
/// of 32.
void BlockReorder::joinPairs(Sizes &blocks, Sizes &axes) {
  if (bytes_ != 2 || pixels_ != 1 || axes.back() != 1 || blocks.back() != 2 ||
      blocks.size() == 1 || dims_[1] % 2)
    return;
  bytes_ = 4;
  dims_[1] /= 2;
  blocks_[1] /= 2;
  for (int64_t &step : steps_)
    step /= 2;
  blocks.pop_back();
  axes.pop_back();
}

/// Lanes are the innermost block. Columns are pixels, or, of a single one, what
/// is left of dimension 1; all other blocks are enumerated.
void BlockReorder::cut(const Sizes &blocks, const Sizes &axes) {
  lanes_ = blocks.back();
  laneAxis_ = size_t(axes.back());
  columnStep_ = blocks_[0] * blocks_[1];
  pieces_ = {{{0, 0}, 0}};
  std::array<int64_t, 2> step = {1, 1}; // in a dimension, of a block's element
  step[laneAxis_] = lanes_;
  int64_t inBlocks = lanes_;
  for (size_t i = blocks.size() - 1; i-- > 0;) {
    size_t axis = size_t(axes[i]);
    if (pixels_ == 1 && axis == 1 && laneAxis_ == 0 && step[1] == 1 &&
        blocks[i] == blocks_[1]) {
      hasColumnsOfAxis1_ = true;
      columnStep_ = inBlocks;
    } else {
      size_t before = pieces_.size();
      for (int64_t at = 1; at < blocks[i]; ++at)
        for (size_t p = 0; p < before; ++p) {
          Piece piece = pieces_[p];
          piece.first[axis] += at * step[axis];
          piece.begin += at * inBlocks;
          pieces_.push_back(piece);
        }
    }
    step[axis] *= blocks[i];
    inBlocks *= blocks[i];
  }
}

/// A small reorder is not worth waking threads, which takes the library longer
/// than the work does. Of the rest, windows of weights have few columns, and
/// blocks of 8 by 8 are a call for few elements; rows that stay rows are
/// copied as fast by the library.
bool BlockReorder::isFaster() const {
  constexpr int64_t fewElements = 128;
  bool areWindows = pixels_ > 1 && pieces_.size() > 1,
       stayRows = pixels_ == 1 && laneAxis_ == 1;
  int64_t unit = bytesOfUnit();
  return !areWindows && (counts_[0] * counts_[1] * unit <= kSmallBytes ||
                         (!stayRows && unit >= fewElements * int64_t(bytes_)));
}

std::optional<BlockReorder>
BlockReorder::create(const artifact::LibraryCommand &command) {
  if (!command.op_as_reorder())
    return std::nullopt;
  const LibraryTensor &from = *command.inputs()->Get(0),
                      &to = *command.outputs()->Get(0);
  BlockReorder reorder;
  reorder.intoBlocks_ = isRowMajor(from);
  if ((!reorder.intoBlocks_ && !isRowMajor(to)) ||
      !reorder.describe(reorder.intoBlocks_ ? from : to,
                        reorder.intoBlocks_ ? to : from) ||
      (reorder.bytes_ != 2 && reorder.bytes_ != 4) || !reorder.isFaster())
    return std::nullopt;
  return reorder;
}

//===-- copying -----------------------------------------------------------===//

namespace {

template <typename Element>
using Four = Element __attribute__((vector_size(4 * sizeof(Element))));

template <typename Element> Four<Element> load(const Element *from) {
  Four<Element> four;
  std::memcpy(&four, from, sizeof(four));
  return four;
}

template <typename Element> void store(Four<Element> four, Element *to) {
  std::memcpy(to, &four, sizeof(four));
}

/// Transposes 4 by 4 elements.
template <typename Element>
void transpose(const Element *from, int64_t fromStep, Element *to,
               int64_t toStep) {
  Four<Element> a = load(from), b = load(from + fromStep),
                c = load(from + 2 * fromStep), d = load(from + 3 * fromStep),
                lowAC = __builtin_shufflevector(a, c, 0, 4, 1, 5),
                highAC = __builtin_shufflevector(a, c, 2, 6, 3, 7),
                lowBD = __builtin_shufflevector(b, d, 0, 4, 1, 5),
                highBD = __builtin_shufflevector(b, d, 2, 6, 3, 7);
  store<Element>(__builtin_shufflevector(lowAC, lowBD, 0, 4, 1, 5), to);
  store<Element>(__builtin_shufflevector(lowAC, lowBD, 2, 6, 3, 7),
                 to + toStep);
  store<Element>(__builtin_shufflevector(highAC, highBD, 0, 4, 1, 5),
                 to + 2 * toStep);
  store<Element>(__builtin_shufflevector(highAC, highBD, 2, 6, 3, 7),
                 to + 3 * toStep);
}

/// Joins two rows of 4 elements to pairs, or parts the pairs.
template <bool intoBlocks, typename Element>
void interleave(Element *first, Element *second, Element *pairs) {
  if constexpr (intoBlocks) {
    Four<Element> a = load(first), b = load(second);
    store<Element>(__builtin_shufflevector(a, b, 0, 4, 1, 5), pairs);
    store<Element>(__builtin_shufflevector(a, b, 2, 6, 3, 7), pairs + 4);
  } else {
    Four<Element> a = load(pairs), b = load(pairs + 4);
    store<Element>(__builtin_shufflevector(a, b, 0, 2, 4, 6), first);
    store<Element>(__builtin_shufflevector(a, b, 1, 3, 5, 7), second);
  }
}

/// A matrix in both tensors: its rows are `rowStep` apart in the plain one,
/// where columns are neighbours; its columns are `columnStep` apart in the
/// blocked one, where rows are.
template <typename Element, bool intoBlocks> struct Matrix {
  Element *plain, *blocked;
  int64_t rowStep, columnStep, rows, columns;

  /// Copies the elements from a position on, up to those of another.
  void copyEach(int64_t row, int64_t column, int64_t endRow,
                int64_t endColumn) const {
    for (; column < endColumn; ++column)
      for (int64_t at = row; at < endRow; ++at) {
        Element &inPlain = plain[at * rowStep + column],
                &inBlocked = blocked[column * columnStep + at];
        (intoBlocks ? inBlocked : inPlain) = intoBlocks ? inPlain : inBlocked;
      }
  }

  /// Whole lines of four rows are read, or written, before the next four.
  void copyInSquares() const {
    int64_t row = 0, whole = columns / 4 * 4;
    for (; row + 4 <= rows; row += 4) {
      for (int64_t column = 0; column < whole; column += 4) {
        Element *p = plain + row * rowStep + column,
                *b = blocked + column * columnStep + row;
        if constexpr (intoBlocks)
          transpose(p, rowStep, b, columnStep);
        else
          transpose(b, columnStep, p, rowStep);
      }
      copyEach(row, whole, row + 4, columns);
    }
    copyEach(row, 0, rows, columns);
  }

  void copyPairs() const {
    int64_t whole = columns / 4 * 4;
    for (int64_t column = 0; column < whole; column += 4)
      interleave<intoBlocks>(plain + column, plain + rowStep + column,
                             blocked + 2 * column);
    copyEach(0, whole, rows, columns);
  }

  void copy() const {
    if (rowStep == 1 && columns == 1)
      std::memcpy(intoBlocks ? blocked : plain, intoBlocks ? plain : blocked,
                  size_t(rows) * sizeof(Element));
    else if (rows == 2 && columnStep == 2)
      copyPairs();
    else
      copyInSquares();
  }
};

} // namespace

template <bool intoBlocks, typename Element>
void BlockReorder::reorderUnit(int64_t unit, Element *plain,
                               Element *blocked) const {
  std::array<int64_t, 2> at = {unit / counts_[1], unit % counts_[1]}, left;
  for (size_t axis = 0; axis < 2; ++axis)
    left[axis] =
        std::min(blocks_[axis], dims_[axis] - at[axis] * blocks_[axis]);
  const std::array<int64_t, 2> step = {dims_[1] * pixels_, pixels_};
  plain += at[0] * blocks_[0] * step[0] + at[1] * blocks_[1] * step[1];
  for (size_t axis = 0; axis < 2; ++axis)
    blocked += counts_[axis] > 1 ? at[axis] * steps_[axis] : 0;
  if (intoBlocks && left != blocks_)
    std::memset(blocked, 0, size_t(bytesOfUnit()));
  for (const Piece &piece : pieces_) {
    auto [row, column] = piece.first;
    if (row >= left[0] || column >= left[1])
      continue;
    Matrix<Element, intoBlocks>{
        plain + row * step[0] + column * step[1],
        blocked + piece.begin,
        step[laneAxis_],
        columnStep_,
        std::min(lanes_, left[laneAxis_] - piece.first[laneAxis_]),
        hasColumnsOfAxis1_ ? left[1] : pixels_}
        .copy();
  }
}

/// Units are dealt in groups of some KiB.
template <bool intoBlocks, typename Element>
void BlockReorder::reorderAll(Element *plain, Element *blocked,
                              ThreadPool &pool) const {
  constexpr int64_t bytesOfGroup = kSmallBytes / 2;
  struct Work {
    const BlockReorder &reorder;
    Element *plain, *blocked;
    int64_t units, group;
  };
  int64_t units = counts_[0] * counts_[1], bytes = bytesOfUnit();
  Work work = {*this, plain, blocked, units,
               std::max<int64_t>(1, bytesOfGroup / bytes)};
  auto block = [](void *context, int64_t index) {
    const Work &work = *static_cast<const Work *>(context);
    int64_t end = std::min(work.units, (index + 1) * work.group);
    for (int64_t unit = index * work.group; unit < end; ++unit)
      work.reorder.template reorderUnit<intoBlocks>(unit, work.plain,
                                                    work.blocked);
  };
  int64_t groups = (units + work.group - 1) / work.group;
  if (units * bytes > kSmallBytes)
    return pool.run(groups, block, &work);
  for (int64_t group = 0; group < groups; ++group)
    block(&work, group);
}

void BlockReorder::run(const uint8_t *from, uint8_t *to,
                       ThreadPool &pool) const {
  auto reorder = [&](auto *plain, auto *blocked) {
    intoBlocks_ ? reorderAll<true>(plain, blocked, pool)
                : reorderAll<false>(plain, blocked, pool);
  };
  uint8_t *source = const_cast<uint8_t *>(from), // which is not written
      *plain = intoBlocks_ ? source : to, *blocked = intoBlocks_ ? to : source;
  if (bytes_ == 4)
    reorder(reinterpret_cast<uint32_t *>(plain),
            reinterpret_cast<uint32_t *>(blocked));
  else
    reorder(reinterpret_cast<uint16_t *>(plain),
            reinterpret_cast<uint16_t *>(blocked));
}

} // namespace gradus::runtime
