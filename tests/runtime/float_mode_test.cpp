#include "runtime/float_mode.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <limits>

using namespace gradus::runtime;

namespace {

/// A program that wants a signal for each such number, until this ends.
struct Trapping {
  Trapping() { feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW); }
  ~Trapping() {
    feclearexcept(FE_ALL_EXCEPT);
    fedisableexcept(FE_ALL_EXCEPT);
  }
};

volatile float zero = 0, largest = std::numeric_limits<float>::max();

} // namespace

TEST(QuietFloats, RaiseNoSignals) {
  Trapping trapping;
  {
    QuietFloats quiet;
    EXPECT_TRUE(std::isnan(zero / zero));
    EXPECT_TRUE(std::isinf(1 / zero));
    EXPECT_TRUE(std::isinf(largest * 2));
  }
  // Of the signal, or of what the sanitizers make of it.
  EXPECT_DEATH(zero = 1 / zero, "");
}

TEST(QuietFloats, LeaveTheProgramsFlagsAlone) {
  feclearexcept(FE_ALL_EXCEPT);
  {
    QuietFloats quiet;
    volatile float infinity = 1 / zero;
    (void)infinity;
  }
  EXPECT_EQ(fetestexcept(FE_ALL_EXCEPT), 0);
}

TEST(QuietFloats, KeepDenormals) {
  volatile float tiny = 1e-40f;
  QuietFloats quiet;
  EXPECT_NE(tiny * 0.5f, 0.0f);
}

TEST(FlushDenormals, PutsTheModeBack) {
  volatile float tiny = 1e-40f;
  {
    FlushDenormals flush;
    EXPECT_EQ(tiny * 0.5f, 0.0f);
  }
  EXPECT_NE(tiny * 0.5f, 0.0f);
}

TEST(FlushDenormals, AreQuiet) {
  Trapping trapping;
  FlushDenormals flush;
  EXPECT_TRUE(std::isinf(1 / zero));
}
