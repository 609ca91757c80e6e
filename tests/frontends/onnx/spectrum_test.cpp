// Fourier transforms of short signals.

#include "small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

static void expectNear(const Values &found, const Values &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

static HostTensor transformed(const HostTensor &signal, bool inverse,
                              bool oneSided) {
  SmallModel model;
  Shape shape(signal.shape.begin(), signal.shape.end());
  model.input("x", shape)
      .node("DFT", {"x"}, {"y"})
      .with("inverse", int(inverse))
      .with("onesided", int(oneSided))
      .output("y");
  return evaluate(model, {signal});
}

TEST(Spectrum, OfARealSignal) {
  HostTensor signal = tensor({1, 4, 1}, {1, 2, 3, 4});
  expectNear(transformed(signal, false, false).floats,
             {10, 0, -2, 2, -2, 0, -2, -2});
  expectNear(transformed(signal, false, true).floats, {10, 0, -2, 2, -2, 0});
}

TEST(Spectrum, ComesBack) {
  HostTensor signal = tensor({1, 3, 2}, {1, 2, -1, 0, 3, 5});
  expectNear(transformed(transformed(signal, false, false), true, false).floats,
             signal.floats);
  HostTensor real = tensor({1, 4, 1}, {1, -2, 3, 5});
  expectNear(transformed(transformed(real, false, true), true, true).floats,
             real.floats);
}

TEST(Spectrum, RefusesAnAxisOfParts) {
  SmallModel model;
  model.input("x", {2, 3, 1})
      .integers("axis", {}, {2})
      .node("DFT", {"x", "", "axis"}, {"y"})
      .output("y");
  EXPECT_EQ(import(model).error, "node \"the DFT\" (DFT): axis 2 of rank 3 is "
                                 "none to transform along");
}
