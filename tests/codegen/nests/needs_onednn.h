// Tests of what oneDNN is asked: skipped only in builds without it, so that a
// library that does not load fails them.

#pragma once

#include "codegen/libraries/onednn.h"

#include <gtest/gtest.h>

// PyPI gives no wheel of oneDNN for every processor.
#ifdef GRADUS_WITH_ONEDNN
#define NEEDS_ONEDNN() ASSERT_TRUE(gradus::hasOneDnn())
#else
#define NEEDS_ONEDNN() GTEST_SKIP() << "built without oneDNN"
#endif
