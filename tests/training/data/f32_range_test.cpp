// Which numbers of f64 an input of f32 takes.

#include "tests/training/data/files.h"
#include "training/data/f32_range.h"

#include <cfloat>
#include <limits>

using namespace gradus::data;
using namespace gradus::runtime;
using testing::Eq;

namespace {

/// What is said of four numbers, as two samples of two.
std::string said(std::vector<double> values) {
  std::span<const uint8_t> bytes(
      reinterpret_cast<const uint8_t *>(values.data()),
      values.size() * sizeof(double));
  return checkF32Range({"x", {DType::f64, {2, 2}}, bytes, nullptr}).message();
}

} // namespace

TEST(F32Range, NamesTheSampleAndTheNumberThatLiesBeyond) {
  EXPECT_THAT(said({0, 1, 1e300, -1e300}),
              Eq("tensor 'x': sample 1 has 1e+300, which lies beyond the range "
                 "of f32, to which f64 is converted"));
  EXPECT_THAT(said({-3.5e38, 1, 0, 0}), testing::HasSubstr("has -3.5e+38,"));
}

TEST(F32Range, TakesWhatIsRoundedToANumberOfIt) {
  EXPECT_THAT(said({FLT_MAX, -FLT_MAX, FLT_MAX * 1.00000001, 1e-300}), Eq(""));
}

TEST(F32Range, LeavesInfinitiesAndNanToWhoeverAsksForThem) {
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(said({infinity, -infinity, std::nan(""), 0}), Eq(""));
}

TEST(F32Range, FailsWhereNumbersAreGone) {
  Folder folder;
  std::string path = folder.write(
      "x.npy", npyFile("<f8", "4096,", bytesOf(std::vector<double>(4096))));
  Dataset dataset = *Dataset::open({"x=" + path});
  std::filesystem::resize_file(path, 4096); // a header of 128, 496 numbers
  EXPECT_EQ(checkF32Range(*dataset.find("x")).message(),
            "the file was cut short while it was read: tensor 'x' lacks its "
            "sample 496");
}
