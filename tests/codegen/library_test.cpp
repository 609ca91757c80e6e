// Layouts that any library knows, and libraries by name.

#include "codegen/cuda_libraries.h"
#include "codegen/onednn.h"

#include <gtest/gtest.h>

using namespace gradus;

TEST(Library, ATransposedMatrixHasOtherStrides) {
  auto layout = transposedLayout({3, 4}); // stored as 4 x 3
  EXPECT_EQ(layout.dims, (llvm::SmallVector<int64_t>{3, 4}));
  EXPECT_EQ(layout.strides, (llvm::SmallVector<int64_t>{1, 3}));
  EXPECT_EQ(layout.elements, 12);
  EXPECT_FALSE(layout.isBlocked());
}

TEST(Library, IsFoundByItsName) {
  EXPECT_EQ(findLibrary("onednn"), &oneDnn());
  EXPECT_EQ(findLibrary("cuda"), &cudaLibraries());
  EXPECT_EQ(findLibrary("mkl"), nullptr);
}
