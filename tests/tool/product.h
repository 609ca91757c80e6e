// A call of a library in the test artifact.

#pragma once

#include "tests/runtime/test_artifact.h"

#include <memory>

namespace gradus::test {

/// Adds the first element of `total` times itself, into `sum`.
inline void addProduct(TestArtifact &made) {
  artifact::LibraryCommandT product;
  product.op = opOf(artifact::LibraryOp::matmul);
  for (auto *list : {&product.inputs, &product.inputs, &product.outputs}) {
    list->push_back(std::make_unique<artifact::LibraryTensorT>());
    list->back()->buffer = list == &product.outputs ? kSum : kTotal;
    list->back()->dims = {1, 1};
  }
  product.scratch = UINT32_MAX;
  made.add("product", product);
}

} // namespace gradus::test
