// TopK of many: rows in order by a sorting network.

#include "frontends/onnx/operators/sorted_places.h"

#include "tests/frontends/onnx/small_model.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace gradus;
using namespace gradus::testing;

namespace {

/// Numbers of which some are equal, some infinite and some no numbers.
HostTensor mixed(const Shape &shape) {
  HostTensor x = zeros(shape);
  std::mt19937 random(3);
  for (double &value : x.floats) {
    unsigned kind = random() % 20;
    value = kind == 0   ? NAN
            : kind == 1 ? INFINITY
            : kind == 2 ? -INFINITY
                        : double(random() % 100) - 50;
  }
  return x;
}

/// The places along the middle axis at [outer, :, inner], first to last: by
/// size, NaN as infinity, then as they stand.
std::vector<int64_t> inOrder(const HostTensor &x, int64_t outer, int64_t inner,
                             bool largest) {
  auto key = [&](int64_t place) {
    double value = x.floats[(outer * x.shape[1] + place) * x.shape[2] + inner];
    return std::isnan(value) ? INFINITY : value;
  };
  std::vector<int64_t> places(x.shape[1]);
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](int64_t i, int64_t j) {
    return largest ? key(i) > key(j) : key(i) < key(j);
  });
  return places;
}

/// TopK along the middle axis.
HostTensor run(const HostTensor &x, int64_t k, bool largest, bool places) {
  SmallModel model;
  model.input("x", Shape(x.shape.begin(), x.shape.end()))
      .integers("k", {1}, {k});
  model.node("TopK", {"x", "k"}, {places ? "v" : "y", places ? "y" : "i"});
  return evaluate(model.with("axis", 1).with("largest", largest).output("y"),
                  {x});
}

void expectInOrder(int64_t length, int64_t k) {
  HostTensor x = mixed({2, length, 2});
  for (bool largest : {true, false}) {
    SCOPED_TRACE(std::to_string(k) + " of " + std::to_string(length));
    HostTensor values = run(x, k, largest, false),
               places = run(x, k, largest, true);
    for (int64_t outer : {0, 1})
      for (int64_t inner : {0, 1}) {
        std::vector<int64_t> expected = inOrder(x, outer, inner, largest);
        for (int64_t i = 0; i < k; ++i) {
          int64_t at = (outer * k + i) * 2 + inner;
          double value = x.floats[(outer * length + expected[i]) * 2 + inner];
          ASSERT_EQ(places.integers[at], expected[i]) << i;
          ASSERT_TRUE(values.floats[at] == value ||
                      (std::isnan(values.floats[at]) && std::isnan(value)))
              << i;
        }
      }
  }
}

} // namespace

TEST(SortedPlaces, OfWholeRows) { expectInOrder(513, 513); }

TEST(SortedPlaces, OfTheFirstOfManyBlocks) { expectInOrder(520, 66); }

TEST(SortedPlaces, OfUnsignedIntegers) {
  SmallModel model;
  model.input("x", {520}, ::onnx::TensorProto::UINT8).integers("k", {1}, {200});
  model.node("TopK", {"x", "k"}, {"v", "y"});
  HostTensor x;
  x.shape = {520};
  x.isFloat = false;
  for (int64_t i = 0; i < 520; ++i)
    x.integers.push_back(int8_t(i * 7));
  std::vector<int64_t> expected(520);
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(), [&](int64_t i, int64_t j) {
    return uint8_t(x.integers[i]) > uint8_t(x.integers[j]);
  });
  expected.resize(200);
  EXPECT_EQ(evaluate(model.output("y"), {x}).integers, expected);
}

// Each step makes as many elements as there are.
TEST(SortedPlaces, CompareNoElementWithAllOthers) {
  SmallModel model;
  model.input("x", {4096}).integers("k", {1}, {512});
  model.node("TopK", {"x", "k"}, {"v", "y"});
  auto imported = import(model.output("y"));
  ASSERT_EQ(imported.error, "");
  imported.program().walk([](mlir::Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type))
        EXPECT_LE(tensor.getNumElements(), 4096);
  });
}
