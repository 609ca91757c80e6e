// This header tells what tests leave out of the run with the sanitizers. These
// see our own code alone. A test whose time goes into kernels that LLVM
// compiled, into LLVM itself or into NVIDIA's programs proves nothing more
// there, as long as other tests have our code around it.

#pragma once

#include "tests/this_build.h"

#include <gtest/gtest.h>

/// Skips such a test.
#define SKIP_WHERE_SANITIZED()                                                 \
  if (!GRADUS_SANITIZE) {                                                      \
  } else                                                                       \
    GTEST_SKIP() << "it is about code without sanitizers, and the other run "  \
                    "has it"

namespace gradus {

/// How many of so many random cases of one kind run: a quarter with the
/// sanitizers, for which they differ in numbers alone.
constexpr unsigned casesWhereSanitized(unsigned count) {
  return GRADUS_SANITIZE ? (count + 3) / 4 : count;
}

} // namespace gradus
