// How nests are read: strides and merged dimensions.

#include "tests/codegen/parsed_nest.h"

using namespace gradus;
using namespace gradus::test;

using Numbers = llvm::SmallVector<int64_t>;

TEST(NestAccess, MergesWhatIsContiguous) {
  ParsedNest all(copyText({2, 3, 4}, {2, 3, 4}, "(i, j, k) -> (i, j, k)"),
                 "serial");
  EXPECT_EQ(all.nest.extents, Numbers({1, 1, 24}));
  ParsedNest rows(copyText({2, 3, 4}, {2, 3, 4}, "(i, j, k) -> (i, j, k)"),
                  "rows");
  EXPECT_EQ(rows.nest.itemDim, 2);
  EXPECT_EQ(rows.nest.itemLength, 12);
  ParsedNest some(copyText({2, 3, 4}, {2}, "(i, j, k) -> (i)"), "serial");
  EXPECT_EQ(some.nest.extents, Numbers({2, 1, 12}));
}

TEST(NestAccess, KeepsApartWhatIsNot) {
  ParsedNest turned(copyText({3, 4}, {4, 3}, "(i, j) -> (j, i)"), "serial");
  EXPECT_EQ(turned.nest.extents, Numbers({3, 4}));
  EXPECT_EQ(turned.nest.inputs[0].place.strides, Numbers({1, 3}));
  ParsedNest shifted(copyText({3, 4}, {6, 9}, "(i, j) -> (2 * i, j + 5)"),
                     "serial");
  EXPECT_EQ(shifted.nest.inputs[0].place.strides, Numbers({18, 1}));
  EXPECT_EQ(shifted.nest.inputs[0].place.offset, 5);
}

/// A guard of rows says of columns what holds of all of them: those stay one
/// vector's.
TEST(NestAccess, ForgetsGuardsThatAlwaysHold) {
  NestText text = copyText({6, 8}, {4, 8}, "(i, j) -> (i - 1, j)");
  text.with[0].guard =
      "(i, j) : (i - 1 >= 0, 4 - i >= 0, j >= 0, 7 - j >= 0, i mod 2 == 0)";
  ParsedNest rows(text, "serial");
  EXPECT_EQ(rows.nest.inputs[0].guard.size(), 3u);
  EXPECT_TRUE(rows.nest.inputs[0].isGuardedBy(0));
  EXPECT_FALSE(rows.nest.inputs[0].isGuardedBy(1));
  text.with[0].guard = "(i, j) : (6 - j >= 0)";
  ParsedNest columns(text, "serial");
  EXPECT_TRUE(columns.nest.inputs[0].isGuardedBy(1));
}
