// Fourier transforms of short signals.

#include "tests/this_build.h"

#include "tests/frontends/onnx/small_model.h"

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

/// A signal of 6 elements in frames of 4, two apart.
static SmallModel framed(const Shape &signal, const Shape &window,
                         int64_t length, int64_t oneSided) {
  SmallModel model;
  model.input("x", signal)
      .input("w", window)
      .integers("step", {}, {2})
      .integers("length", {}, {length})
      .node("STFT", {"x", "step", "w", "length"}, {"y"})
      .with("onesided", oneSided);
  return model;
}

/// As torch.stft has it.
TEST(Spectrum, OfFramesUnderAWindow) {
  HostTensor y = evaluate(
      framed({1, 6, 1}, {4}, 4, 1).output("y"),
      {tensor({1, 6, 1}, {1, 2, -1, 0, 3, 5}), tensor({4}, {0.5, 1, 1, 0.5})});
  EXPECT_EQ(y.shape, (llvm::SmallVector<int64_t>{1, 2, 3, 2}));
  expectNear(y.floats, {1.5, 0, 1.5, -2, -2.5, 0, 5, 0, -3.5, 2.5, 0, 0});
}

/// PyTorch's TorchScript exporter leaves out the axis of parts of a real
/// signal; the expected values are torch.stft's.
TEST(Spectrum, OfAnExportedSignal) {
  Imported model =
      import(GRADUS_SOURCE_DIR "/tests/data/exports/spectrum_script.onnx");
  auto y = evaluate(model, {tensor({2, 6}, {1, 2, -1, 0, 3, 5, //
                                            0, -2, 4, 1, -3, 2})});
  ASSERT_EQ(y.size(), 1u);
  EXPECT_EQ(y[0].shape, (llvm::SmallVector<int64_t>{2, 3, 2, 2}));
  expectNear(y[0].floats, {1.5, 0, 5, 0, 1.5, -2,  -3.5, 2.5, -2.5, 0, 0,  0,
                           2.5, 0, 1, 0, -4,  2.5, 5,    0,   5.5,  0, -3, 0});
}

TEST(Spectrum, OfComplexFramesHasTwoSides) {
  SmallModel model;
  model.input("x", {1, 4, 2})
      .integers("step", {}, {1})
      .node("STFT", {"x", "step"}, {"y"})
      .with("onesided", 0)
      .output("y");
  expectNear(
      evaluate(model, {tensor({1, 4, 2}, {1, -1, 2, 0, -1, 3, 0, 5})}).floats,
      {2, 7, -3, -6, -2, -3, 7, -2});
}

TEST(Spectrum, RefusesFramesThatDoNotFit) {
  EXPECT_EQ(errorOf(framed({1, 3, 1}, {4}, 4, 1)),
            "node \"the STFT\" (STFT): frames of 4 elements do not fit a "
            "signal of 3");
  EXPECT_EQ(errorOf(framed({1, 1, 6, 1}, {4}, 4, 1)),
            "node \"the STFT\" (STFT): its signal has rank 4, expected [batch, "
            "length] or [batch, length, parts]");
  EXPECT_EQ(errorOf(framed({1, 6, 1}, {3}, 4, 1)),
            "node \"the STFT\" (STFT): its window has 3 elements, but its "
            "frames 4");
  EXPECT_EQ(errorOf(framed({1, 6, 1}, {4}, 0, 1)),
            "node \"the STFT\" (STFT): its frame_length is [0], expected one "
            "number of at least 1");
  EXPECT_EQ(errorOf(framed({1, 6, 2}, {4}, 4, 1)),
            "node \"the STFT\" (STFT): onesided is 1, but its signal is "
            "complex, whose transform has two sides");
  EXPECT_EQ(errorOf(framed({1, 6, 3}, {4}, 4, 1)),
            "node \"the STFT\" (STFT): its numbers have 3 parts, expected 1 "
            "or 2");
}
