// Layouts that any library knows, and libraries by name.

#include "codegen/libraries/cuda_libraries.h"
#include "codegen/libraries/onednn.h"

#include <gtest/gtest.h>

using namespace gradus;

TEST(Library, ATransposedMatrixHasOtherStrides) {
  auto layout = transposedLayout({3, 4}); // stored as 4 x 3
  EXPECT_EQ(layout.dims, (llvm::SmallVector<int64_t>{3, 4}));
  EXPECT_EQ(layout.strides, (llvm::SmallVector<int64_t>{1, 3}));
  EXPECT_EQ(layout.elements, 12);
  EXPECT_FALSE(layout.isBlocked());
}

TEST(Library, DoesWithACallWhatItSays) {
  LibraryCall matmul;
  matmul.name = "matmul";
  matmul.operands = {transposedLayout({8, 16}), rowMajorLayout({16, 8})};
  matmul.result = rowMajorLayout({8, 8});
  EXPECT_TRUE(oneDnn().has(matmul, CallFeatures::bias));
  EXPECT_TRUE(oneDnn().has(matmul, activationFeature("sigmoid")));
  EXPECT_FALSE(oneDnn().has(matmul, CallFeatures::geluInput));
  EXPECT_FALSE(oneDnn().has(matmul, activationFeature("softmax")));

  const Library &cuda = cudaLibraries();
  EXPECT_TRUE(cuda.has(matmul, activationFeature("gelu_tanh")));
  EXPECT_FALSE(cuda.has(matmul, activationFeature("tanh")));
  EXPECT_TRUE(cuda.has(matmul, CallFeatures::geluGradient));
  EXPECT_TRUE(cuda.has(matmul, CallFeatures::sourceSum));
  EXPECT_TRUE(cuda.has(matmul, CallFeatures::weightsSum));
  EXPECT_FALSE(cuda.has(matmul, CallFeatures::roundedResult));
  matmul.operands[0] = rowMajorLayout({8, 16});
  EXPECT_FALSE(cuda.has(matmul, CallFeatures::sourceSum));
  matmul.operands.push_back(rowMajorLayout({1, 8})); // a bias
  EXPECT_TRUE(cuda.has(matmul, CallFeatures::geluInput));
  EXPECT_FALSE(cuda.has(matmul, CallFeatures::geluGradient));
  EXPECT_FALSE(cuda.has(matmul, CallFeatures::weightsSum));

  LibraryCall convolution = matmul;
  convolution.name = "convolution";
  EXPECT_TRUE(cuda.has(convolution, CallFeatures::roundedResult));
  EXPECT_FALSE(cuda.has(convolution, CallFeatures::bias));
}

TEST(Library, IsFoundByItsName) {
  EXPECT_EQ(findLibrary("onednn"), &oneDnn());
  EXPECT_EQ(findLibrary("cuda"), &cudaLibraries());
  EXPECT_EQ(findLibrary("mkl"), nullptr);
}
