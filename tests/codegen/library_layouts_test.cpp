// Layouts as the library wants them.

#include "codegen/library_layouts.h"

#include <gtest/gtest.h>

using namespace gradus;

namespace {

TEST(LibraryLayouts, OfATransposedMatrixHaveOtherStrides) {
  auto layout = transposedLayout({3, 4}); // stored as 4 x 3
  EXPECT_EQ(layout.dims, (llvm::SmallVector<int64_t>{3, 4}));
  EXPECT_EQ(layout.strides, (llvm::SmallVector<int64_t>{1, 3}));
  EXPECT_EQ(layout.elements, 12);
  EXPECT_FALSE(layout.isBlocked());
}

LibraryCall convolution() {
  LibraryCall call;
  call.name = "convolution";
  call.operands = {rowMajorLayout({4, 32, 16, 16}),
                   rowMajorLayout({64, 32, 3, 3})};
  call.result = rowMajorLayout({4, 64, 16, 16});
  call.strides = call.dilations = call.padsBegin = call.padsEnd = {1, 1};
  return call;
}

TEST(LibraryLayouts, AreTheLibrarysOwnWhereItMayChoose) {
  if (!hasLibrary())
    GTEST_SKIP() << "oneDNN is not here";
  LibraryCall call = convolution();
  ASSERT_TRUE(askLibrary(call, /*free=*/true));
  EXPECT_EQ(call.result.dims, convolution().result.dims);
  EXPECT_FALSE(call.operands[1] == convolution().operands[1]);
  EXPECT_GE(call.operands[1].elements, 64 * 32 * 9);
}

TEST(LibraryLayouts, StayWhereTheyAreFixed) {
  LibraryCall call = convolution();
  ASSERT_TRUE(askLibrary(call, /*free=*/false));
  EXPECT_TRUE(call.operands[0] == convolution().operands[0]);
}

TEST(LibraryLayouts, AreRefusedForWhatCannotBe) {
  if (!hasLibrary())
    GTEST_SKIP() << "oneDNN is not here";
  LibraryCall call = convolution();
  call.result = rowMajorLayout({4, 64, 99, 16});
  EXPECT_FALSE(askLibrary(call, /*free=*/true));
}

} // namespace
