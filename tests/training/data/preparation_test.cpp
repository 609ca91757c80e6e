// Normalization to the bit, and crops and flips that a draw decides.

#include "tests/training/data/files.h"
#include "training/data/preparation.h"

#include <cmath>
#include <set>

using namespace gradus::data;
using namespace gradus::runtime;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TensorInfo image(std::vector<int64_t> shape) {
  TensorType type{DType::f32, shape};
  return {"image", type, *gradus::runtime::bytesOf(type)};
}

std::vector<float> prepared(const Preparation &preparation,
                            const TensorInfo &input, std::vector<float> from,
                            uint64_t draw = 0) {
  std::vector<float> to(from.size(), -7);
  prepare(preparation, input, draw, from.data(), to.data());
  return to;
}

} // namespace

TEST(Preparation, NormalizesEachChannelByItsOwnNumbers) {
  EXPECT_THAT(prepared({.mean = {1, 3}, .std = {2, 4}}, image({8, 2, 1, 2}),
                       {1, 2, 3, 5}),
              ElementsAre(0, 0.5, 0, 0.5));
}

TEST(Preparation, NormalizesAllByOneNumber) {
  EXPECT_THAT(prepared({.mean = {0.5}, .std = {0.3f}}, image({8, 2}), {1, 0}),
              ElementsAre((1 - 0.5f) / 0.3f, (0 - 0.5f) / 0.3f));
}

TEST(Preparation, MovesAndMirrorsByTheDraw) {
  std::set<std::vector<float>> seen;
  for (uint64_t draw = 0; draw < 400; ++draw)
    seen.insert(
        prepared({.crop = 1, .flip = true}, image({8, 1, 1, 2}), {1, 2}, draw));
  // Moved up or down nothing of one row is left; else (1, 2), (0, 1), (2, 0)
  // and their mirror images.
  EXPECT_THAT(seen, testing::UnorderedElementsAre(
                        std::vector<float>{0, 0}, std::vector<float>{1, 2},
                        std::vector<float>{0, 1}, std::vector<float>{2, 0},
                        std::vector<float>{2, 1}, std::vector<float>{1, 0},
                        std::vector<float>{0, 2}));
}

TEST(Preparation, IsTheSameForTheSameDraw) {
  Preparation both{.crop = 2, .flip = true};
  std::vector<float> pixels = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(prepared(both, image({8, 1, 2, 3}), pixels, 17),
            prepared(both, image({8, 1, 2, 3}), pixels, 17));
}

TEST(Preparation, TreatsChannelsOfOneImageAlike) {
  for (uint64_t draw = 0; draw < 50; ++draw) {
    auto to = prepared({.crop = 1, .flip = true}, image({8, 2, 1, 2}),
                       {1, 2, 1, 2}, draw);
    EXPECT_EQ(to[0], to[2]);
    EXPECT_EQ(to[1], to[3]);
  }
}

TEST(Preparation, ScalesAPartOfEachChannelToTheWhole) {
  // A quarter of four pixels is one, which fills the sample.
  std::set<std::vector<float>> seen;
  Preparation part{.mean = {1},
                   .resizedCrop = ResizedCrop{{0.25, 0.25}, {1, 1}}};
  for (uint64_t draw = 0; draw < 100; ++draw)
    seen.insert(prepared(part, image({8, 2, 2, 2}),
                         {1, 2, 3, 4, 11, 12, 13, 14}, draw));
  EXPECT_THAT(seen, testing::UnorderedElementsAre(
                        std::vector<float>{0, 0, 0, 0, 10, 10, 10, 10},
                        std::vector<float>{1, 1, 1, 1, 11, 11, 11, 11},
                        std::vector<float>{2, 2, 2, 2, 12, 12, 12, 12},
                        std::vector<float>{3, 3, 3, 3, 13, 13, 13, 13}));
}

TEST(Preparation, PadsBeforeItNormalizes) {
  std::set<float> seen;
  for (uint64_t draw = 0; draw < 100; ++draw)
    seen.insert(
        prepared({.mean = {1}, .crop = 1}, image({8, 1, 1, 1}), {3}, draw)[0]);
  EXPECT_THAT(seen, ElementsAre(-1, 2));
}

TEST(Preparation, SaysWhatCannotBePrepared) {
  EXPECT_THAT(wordsOf(check({.mean = {1, 2, 3}}, image({8, 2, 4, 4}))),
              HasSubstr("inputs.normalize.image: has 3 numbers, but the input "
                        "is 8x2x4x4xf32; expected 1 or 2"));
  EXPECT_THAT(wordsOf(check({.crop = 1}, image({8, 2}))),
              HasSubstr("which is no image"));
  EXPECT_THAT(wordsOf(check({.crop = int64_t(1) << 62}, image({8, 1, 4, 6}))),
              HasSubstr("inputs.augment.image: crop is 4611686018427387904, "
                        "but the input is 8x1x4x6xf32; expected 0 to 6"));
  EXPECT_EQ(wordsOf(check({.crop = 6}, image({8, 1, 4, 6}))), "");
  EXPECT_EQ(wordsOf(check({.resizedCrop = ResizedCrop()}, image({8, 4, 6}))),
            "");
  EXPECT_THAT(wordsOf(check({.resizedCrop = ResizedCrop{{0.5, 0.2}, {1, 1}}},
                            image({8, 4, 6}))),
              HasSubstr("resized_crop has scale 0.5 to 0.2 and ratio 1 to 1; "
                        "expected numbers above 0 in order, scale at most 1"));
  for (float number : {HUGE_VALF, -HUGE_VALF}) {
    EXPECT_THAT(wordsOf(check({.mean = {number}}, image({8, 2}))),
                HasSubstr("inputs.normalize.image: has a number beyond"));
    EXPECT_THAT(wordsOf(check({.std = {number}}, image({8, 2}))),
                HasSubstr("inputs.normalize.image: has a number beyond"));
  }
  EXPECT_THAT(wordsOf(check({}, {"ids", {DType::i64, {8}}, 64})),
              HasSubstr("only f32 can be normalized"));
}
