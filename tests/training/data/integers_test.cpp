// What is said of a value that an input cannot take.

#include "tests/training/data/files.h"
#include "training/data/integers.h"

using namespace gradus::data;
using namespace gradus::runtime;
using testing::Eq;

namespace {

/// What is said of six elements, as three samples of two.
template <typename T>
std::string said(std::vector<T> values, DType dtype, TensorInfo input,
                 LabelRule rule = {}) {
  std::span<const uint8_t> bytes(
      reinterpret_cast<const uint8_t *>(values.data()),
      values.size() * sizeof(T));
  Column column{input.name, {dtype, {3, 2}}, bytes, nullptr};
  return checkIntegers(column, input, {{"label", rule}}).message();
}

const TensorInfo kLabel = {"label", {}, 0};
const TensorInfo kToken = {"token", {}, 0, /*indices=*/100};
const TensorInfo kOther = {"other", {}, 0};

} // namespace

TEST(Integers, NameTheSampleWhoseLabelIsNoClass) {
  EXPECT_THAT(
      said<int64_t>({0, 1, 2, 9, 0, 0}, DType::i64, kLabel, {3, {}, {}}),
      Eq("tensor 'label': sample 1 has the label 9, but the model has "
         "3 classes (0 to 2)"));
}

TEST(Integers, AllowTheLabelThatIsIgnored) {
  EXPECT_THAT(
      said<int32_t>({0, 1, -100, 2, 0, 0}, DType::i32, kLabel, {3, -100, {}}),
      Eq(""));
}

TEST(Integers, CountTheClassesThatHaveALabel) {
  std::vector<int8_t> labels = {3, 1, -100, 3, 1, 1};
  std::span<const uint8_t> bytes(
      reinterpret_cast<const uint8_t *>(labels.data()), labels.size());
  ClassCount count =
      *countClasses({"label", {DType::i8, {6}}, bytes, nullptr}, 10);
  EXPECT_EQ(count.found, 2);
  EXPECT_EQ(count.known, 10);
}

TEST(Integers, NameTheSampleWhoseIndexLiesOutside) {
  EXPECT_THAT(said<int32_t>({0, 1, 2, 3, 4, 100}, DType::i32, kToken),
              Eq("tensor 'token': sample 2 has the index 100, but the model "
                 "looks it up among 100 (0 to 99; -100 to -1 count from the "
                 "end)"));
  EXPECT_THAT(said<int16_t>({-101, 1, 2, 3, 4, 5}, DType::i16, kToken),
              testing::HasSubstr("sample 0 has the index -101"));
}

TEST(Integers, AllowIndicesFromTheEnd) {
  EXPECT_THAT(said<int8_t>({-100, 99, -1, 0, 0, 0}, DType::i8, kToken), Eq(""));
}

TEST(Integers, OfOtherInputsMayBeAny) {
  EXPECT_THAT(said<int64_t>({-7, 1 << 30, 0, 0, 0, 0}, DType::i64, kOther),
              Eq(""));
  EXPECT_THAT(said<float>({7, 8, 9, 0, 0, 0}, DType::f32, kLabel, {3, {}, {}}),
              Eq(""));
}
