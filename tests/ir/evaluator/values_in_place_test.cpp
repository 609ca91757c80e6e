// Large values stay where they lie until nobody needs them.

#include "ir/evaluator/values_in_place.h"

#include "ir/evaluator/evaluator.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace gradus;
using namespace mlir;

namespace {

constexpr int64_t kMany = int64_t(1) << 19; // elements of f32: 2 MiB

struct ValuesInPlace : testing::Test {
  ElementsAttr make(const std::vector<float> &floats) {
    auto type = RankedTensorType::get({int64_t(floats.size())},
                                      Builder(&context).getF32Type());
    bytes = {reinterpret_cast<const char *>(floats.data()),
             floats.size() * sizeof(float)};
    return valuesInPlace(type, bytes, "w", [this] { ++done; });
  }

  int done = 0;
  ArrayRef<char> bytes;
  MLIRContext context;
};

std::vector<float> rising(int64_t count) {
  std::vector<float> floats(count);
  std::iota(floats.begin(), floats.end(), 1.0f);
  return floats;
}

} // namespace

TEST_F(ValuesInPlace, KeepsManyWhereTheyLie) {
  auto floats = rising(kMany);
  auto values = dyn_cast<DenseResourceElementsAttr>(make(floats));
  ASSERT_TRUE(values);
  EXPECT_EQ(values.getRawHandle().getBlob()->getData().data(), bytes.data());
  EXPECT_EQ(done, 0);
  FailureOr<HostTensor> read = toHost(values);
  ASSERT_TRUE(succeeded(read));
  EXPECT_EQ(read->floats.back(), kMany);
}

TEST_F(ValuesInPlace, GivesThemBackOnce) {
  auto floats = rising(kMany);
  ElementsAttr values = make(floats);
  giveBackValues(values);
  EXPECT_EQ(done, 1);
  giveBackValues(values);
  EXPECT_EQ(done, 1);
}

TEST_F(ValuesInPlace, CopiesFew) {
  auto floats = rising(4);
  ElementsAttr values = make(floats);
  EXPECT_TRUE(isa<DenseElementsAttr>(values));
  EXPECT_EQ(done, 1);
  giveBackValues(values); // The context's own stay.
  EXPECT_EQ(toHost(values)->floats, (std::vector<double>{1, 2, 3, 4}));
}

// A state that starts with one value everywhere stores no bytes.
TEST_F(ValuesInPlace, KnowsThatAllAreEqual) {
  std::vector<float> floats(kMany, 0.5f);
  auto values = dyn_cast<DenseElementsAttr>(make(floats));
  ASSERT_TRUE(values);
  EXPECT_TRUE(values.isSplat());
  floats.back() = 1;
  EXPECT_FALSE(isa<DenseElementsAttr>(make(floats)));
}

// One resource may be the values of many types.
TEST_F(ValuesInPlace, HaveOneHolderForTheSameBytes) {
  auto floats = rising(kMany);
  auto row = cast<DenseResourceElementsAttr>(make(floats));
  auto column = DenseResourceElementsAttr::get(
      RankedTensorType::get({kMany, 1}, row.getElementType()),
      row.getRawHandle());
  EXPECT_EQ(holderOf(row), holderOf(column));
  EXPECT_NE(holderOf(row), holderOf(make(floats)));
  auto few = rising(4);
  EXPECT_EQ(holderOf(make(few)), holderOf(make(few)));
  EXPECT_EQ(holderOf({}), nullptr);
}

TEST_F(ValuesInPlace, TakesNoValueForNothing) { giveBackValues({}); }
