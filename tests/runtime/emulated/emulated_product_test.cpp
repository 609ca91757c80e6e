// Products of all sizes around those of a tile.

#include "runtime/emulated/emulated_product.h"

#include "tests/runtime/cuda/run_op.h"

using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;

static void expectProduct(int64_t rows, int64_t depth, int64_t columns,
                          bool transposed) {
  Array a = someArray({rows, depth}, 1), b = someArray({depth, columns}, 2),
        c = someArray({rows, columns}, 3);
  Numbers left, right(b.numbers.begin(), b.numbers.end()),
      sums(c.numbers.begin(), c.numbers.end());
  forEachIndex(transposed ? Dims{depth, rows} : Dims{rows, depth},
               [&](const Dims &i) {
                 left.push_back(float(transposed ? a.at({i[1], i[0]})
                                                 : a.at({i[0], i[1]})));
               });
  addProduct(rows, depth, columns,
             {left.data(), transposed ? 1 : depth, transposed ? rows : 1},
             {right.data(), columns}, {sums.data(), columns});
  forEachIndex(c.dims, [&](const Dims &i) {
    double sum = c.at(i);
    for (int64_t k = 0; k < depth; ++k)
      sum += a.at({i[0], k}) * b.at({k, i[1]});
    ASSERT_NEAR(sums[size_t(i[0] * columns + i[1])], sum, 1e-4)
        << rows << " x " << depth << " x " << columns;
  });
}

TEST(EmulatedProduct, AddsProductsOfAllSizes) {
  for (int64_t rows : {1, 3, 4, 9})
    for (int64_t depth : {1, 5, 30})
      for (int64_t columns : {1, 7, 8, 17})
        for (bool transposed : {false, true})
          expectProduct(rows, depth, columns, transposed);
}

/// Rows further apart than they are long.
TEST(EmulatedProduct, LeavesWhatLiesBetweenRows) {
  std::vector<float> a = {1, -1, 2, -1}, b = {3, 4, -1}, c(6, 10);
  addProduct(2, 1, 2, {a.data(), 2}, {b.data(), 3}, {c.data(), 3});
  EXPECT_EQ(c, (std::vector<float>{13, 14, 10, 16, 18, 10}));
}
