// Tests of what ptxas makes: skipped only in builds without a toolkit, so that
// one that is not found fails them.

#pragma once

#include "codegen/gpu/object.h"

#include <gtest/gtest.h>

// Tests are built without one where neither PyPI nor NVIDIA gave one.
#define NEEDS_CUDA_TOOLKIT()                                                   \
  if (!gradus::hasCudaToolkit())                                               \
  GTEST_SKIP() << "built without a CUDA toolkit (GRADUS_CUDA=OFF)"
