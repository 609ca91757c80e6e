// What training starts with is said where it is no number.

#include "frontends/onnx/file/non_finite.h"

#include "tests/frontends/onnx/small_model.h"

#include <limits>

using namespace gradus;
using namespace gradus::testing;
using gradus::onnx::nonFiniteIn;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::string wordsOf(const std::vector<double> &values, bool tellsInfinite,
                    const std::function<mlir::Type(mlir::Builder)> &element) {
  mlir::MLIRContext context;
  auto type = mlir::RankedTensorType::get({int64_t(values.size())},
                                          element(mlir::Builder(&context)));
  return nonFiniteIn(toElements(tensor({int64_t(values.size())}, values), type),
                     tellsInfinite);
}

std::string inF32(const std::vector<double> &values, bool tellsInfinite) {
  return wordsOf(values, tellsInfinite,
                 [](mlir::Builder b) { return b.getF32Type(); });
}

/// x + w, where w is as said.
SmallModel sum(const std::vector<float> &w, const std::string &name = "w") {
  SmallModel model;
  model.input("x", {2}).floats(name, {2}, w).node("Add", {"x", name}, {"y"});
  return model.output("y");
}

} // namespace

TEST(NonFinite, AreCountedInEachTypeOfFloat) {
  const std::vector<double> values = {1, kNan, -kInfinity, kInfinity};
  const char *words = "1 NaN and 2 infinite of its 4 values";
  EXPECT_EQ(inF32(values, true), words);
  EXPECT_EQ(
      wordsOf(values, true, [](mlir::Builder b) { return b.getF64Type(); }),
      words);
  EXPECT_EQ(
      wordsOf(values, true, [](mlir::Builder b) { return b.getF16Type(); }),
      words);
  EXPECT_EQ(
      wordsOf(values, true, [](mlir::Builder b) { return b.getBF16Type(); }),
      words);
}

TEST(NonFinite, AreNoLargeNumbers) {
  EXPECT_EQ(inF32({-3.4e38, 3.4e38, 1e-45, 0}, true), "");
}

TEST(NonFinite, AreAllOfWhatIsStoredOnce) {
  EXPECT_EQ(inF32({kNan, kNan, kNan}, true), "3 NaN of its 3 values");
}

// As a mask of attention is.
TEST(NonFinite, MayBeInfiniteWhereNothingIsTrained) {
  EXPECT_EQ(inF32({-kInfinity, 0}, false), "");
  EXPECT_EQ(inF32({-kInfinity, kNan}, false), "1 NaN of its 2 values");
}

TEST(NonFinite, AreNamedByTheImport) {
  EXPECT_EQ(notes(sum({1, kNan}).write(), "{}"),
            "initializer \"w\" has 1 NaN of its 2 values, which training "
            "starts with");
  EXPECT_EQ(notes(sum({1, kInfinity}).write(), "{}"),
            "initializer \"w\" has 1 infinite of its 2 values, which training "
            "starts with");
  EXPECT_EQ(notes(sum({1, 2}).write(), "{}"), "");
}
