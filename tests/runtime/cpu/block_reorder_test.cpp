// Each element is where the layouts say, and nothing else changes.

#include "runtime/cpu/block_reorder.h"
#include "tests/runtime/library_ops.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace gradus::runtime;
namespace artifact = gradus::artifact;
using gradus::artifact::DType;
using gradus::artifact::LibraryCommand;
using gradus::artifact::LibraryCommandT;
using gradus::artifact::LibraryOp;
using gradus::artifact::LibraryTensorT;

namespace {

using Dims = std::vector<int64_t>;

int64_t product(const Dims &dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1},
                         std::multiplies<>());
}

/// A tensor in blocks, whose first two dimensions are outside in this order.
struct Layout {
  Dims dims, blocks, axes;
  bool isSecondOuter = false;

  Dims padded() const {
    Dims sizes = dims, whole(dims.size(), 1);
    for (size_t i = 0; i < blocks.size(); ++i)
      whole[size_t(axes[i])] *= blocks[i];
    for (size_t d = 0; d < dims.size(); ++d)
      sizes[d] = (sizes[d] + whole[d] - 1) / whole[d] * whole[d];
    return sizes;
  }

  Dims strides() const {
    Dims counts = padded(), steps(dims.size());
    for (size_t i = 0; i < blocks.size(); ++i)
      counts[size_t(axes[i])] /= blocks[i];
    int64_t step = product(blocks);
    std::vector<size_t> order(dims.size());
    std::iota(order.begin(), order.end(), 0);
    if (isSecondOuter)
      std::swap(order[0], order[1]);
    for (size_t i = order.size(); i-- > 0; step *= counts[order[i]])
      steps[order[i]] = step;
    return steps;
  }

  /// Where the element at an index is.
  int64_t placeOf(Dims index) const {
    int64_t place = 0, inner = 1;
    for (size_t i = blocks.size(); i-- > 0; inner *= blocks[i]) {
      int64_t &at = index[size_t(axes[i])];
      place += at % blocks[i] * inner;
      at /= blocks[i];
    }
    Dims steps = strides();
    for (size_t d = 0; d < index.size(); ++d)
      place += index[d] * steps[d];
    return place;
  }
};

/// A reorder between row-major order and a layout, packed.
struct Command {
  Command(const Layout &layout, DType dtype, bool intoBlocks) {
    LibraryCommandT command;
    command.op = artifact::opOf(LibraryOp::reorder);
    auto plain = std::make_unique<LibraryTensorT>(),
         blocked = std::make_unique<LibraryTensorT>();
    plain->dims = blocked->dims = layout.dims;
    plain->dtype = blocked->dtype = dtype;
    blocked->padded_dims = layout.padded();
    blocked->strides = layout.strides();
    blocked->inner_blocks = layout.blocks;
    blocked->inner_axes = layout.axes;
    command.inputs.push_back(std::move(intoBlocks ? plain : blocked));
    command.outputs.push_back(std::move(intoBlocks ? blocked : plain));
    builder.Finish(LibraryCommand::Pack(builder, &command));
  }

  std::optional<BlockReorder> reorder() {
    return BlockReorder::create(
        *flatbuffers::GetRoot<LibraryCommand>(builder.GetBufferPointer()));
  }

  flatbuffers::FlatBufferBuilder builder;
};

/// Calls f(row-major place, place in the layout) for each element.
template <typename Visit> void visitElements(const Layout &layout, Visit f) {
  for (int64_t place = 0; place < product(layout.dims); ++place) {
    Dims index(layout.dims.size());
    int64_t rest = place;
    for (size_t d = index.size(); d-- > 0; rest /= layout.dims[d])
      index[d] = rest % layout.dims[d];
    f(size_t(place), size_t(layout.placeOf(index)));
  }
}

template <typename Element>
void check(const Layout &layout, DType dtype, int threads) {
  ThreadPool pool(threads);
  std::vector<Element> plain(size_t(product(layout.dims))),
      blocked(size_t(product(layout.padded())), Element(-1)),
      expected(blocked.size(), 0), back(plain.size(), 0);
  std::iota(plain.begin(), plain.end(), Element(1));
  visitElements(layout,
                [&](size_t from, size_t to) { expected[to] = plain[from]; });
  auto bytes = [](auto &values) {
    return reinterpret_cast<uint8_t *>(values.data());
  };
  auto into = Command(layout, dtype, true).reorder(),
       out = Command(layout, dtype, false).reorder();
  ASSERT_TRUE(into && out);
  into->run(bytes(plain), bytes(blocked), pool);
  EXPECT_EQ(blocked, expected);
  out->run(bytes(blocked), bytes(back), pool);
  EXPECT_EQ(back, plain);
}

const Dims weights[] = {{64, 48, 1, 1}, {40, 24, 1, 1}, {19, 7, 1, 1}},
           large = {250, 164, 1, 1};

} // namespace

// As oneDNN has them for 1x1 convolutions, forward and back; the last blocks
// may be filled in part.
TEST(BlockReorder, MovesWeightsOfF32) {
  for (const Dims &dims : weights) {
    check<uint32_t>({dims, {16, 16}, {1, 0}}, DType::f32, 2);
    check<uint32_t>({dims, {16, 16}, {0, 1}, true}, DType::f32, 2);
    check<uint32_t>({dims, {8, 8}, {1, 0}}, DType::f32, 2);
  }
  for (int threads : {1, 3})
    check<uint32_t>({large, {16, 16}, {1, 0}}, DType::f32, threads);
}

// Pairs along the inputs, and along the outputs.
TEST(BlockReorder, MovesWeightsOf16Bits) {
  auto checkBoth = [](const Dims &dims, DType dtype) {
    check<uint16_t>({dims, {8, 16, 2}, {1, 0, 1}}, dtype, 2);
    check<uint16_t>({dims, {8, 16, 2}, {0, 1, 0}, true}, dtype, 2);
  };
  for (const Dims &dims : weights)
    checkBoth(dims, DType::f16);
  checkBoth(large, DType::bf16);
}

TEST(BlockReorder, MovesChannels) {
  for (const Dims &dims : {Dims{2, 40, 5, 7},
                           {1, 32, 2, 2},
                           {3, 24, 1, 1},
                           {2, 48, 24, 24},
                           {2, 16, 3, 3, 3},
                           {2, 9, 11}}) {
    check<uint32_t>({dims, {16}, {1}}, DType::f32, 2);
    check<uint16_t>({dims, {16}, {1}}, DType::bf16, 2);
    check<uint32_t>({dims, {8}, {1}}, DType::i32, 2);
  }
}

// The weights of a stem and of a depthwise convolution.
TEST(BlockReorder, MovesBlocksOfOutputs) {
  check<uint32_t>({{70, 3, 7, 7}, {16}, {0}}, DType::f32, 2);
  check<uint16_t>({{40, 1, 3, 3}, {16}, {0}}, DType::bf16, 2);
  check<uint32_t>({{33, 1, 1, 3, 3}, {16}, {0}}, DType::f32, 2);
}

TEST(BlockReorder, LeavesOthersToTheLibrary) {
  auto isOurs = [](const Layout &layout, DType dtype = DType::f32) {
    return Command(layout, dtype, true).reorder().has_value();
  };
  EXPECT_FALSE(isOurs({{32, 32, 3, 3}, {16, 16}, {1, 0}})); // it is faster
  EXPECT_FALSE(isOurs({large, {16, 16}, {0, 1}, true}));
  EXPECT_FALSE(isOurs({large, {8, 8}, {1, 0}}));
  EXPECT_FALSE(isOurs({{32, 32, 1, 1}, {16}, {1}}, DType::i8));
  EXPECT_FALSE(isOurs({{32, 32}, {16}, {1}}));
  EXPECT_FALSE(isOurs({{2, 16, 4, 4}, {4}, {2}}));
  EXPECT_FALSE(isOurs({{2, 16, 4, 4}, {}, {}}));
  Layout huge = {{1 << 12, 1 << 12, 1}, {1 << 12, 1 << 12}, {0, 1}};
  EXPECT_FALSE(isOurs(huge));
}
