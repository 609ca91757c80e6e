#include "summing.h"

#include "tests/runtime/refusals.h"

using namespace gradus::runtime;
using namespace gradus::test;
namespace fb = gradus::artifact;

static fb::StartCommandT startOf(std::vector<uint32_t> buffers) {
  fb::StartCommandT start;
  start.buffers = std::move(buffers);
  return start;
}

TEST(Start, MembersOfABucketThatLieTogetherAreOneSum) {
  Summing plan;
  std::vector<uint32_t> bucket;
  for (int64_t elements : {5, 0, 16, 3})
    bucket.push_back(plan.add(fb::DType::f32, elements, bucket.size() * 64));
  bucket[2] = plan.add(fb::DType::f32, 16, 64);
  bucket[3] = plan.add(fb::DType::f32, 3, 128);
  auto collectives = std::make_shared<RecordedCollectives>();
  OpenSums sums(collectives);
  ASSERT_TRUE(plan.prepare(startOf(bucket), &sums)->run().ok());
  ASSERT_EQ(collectives->begun.size(), 1u);
  EXPECT_EQ(collectives->begun[0].data, plan.arena);
  EXPECT_EQ(collectives->begun[0].count, 16u + 16 + 3); // with the padding
  EXPECT_EQ(collectives->begun[0].type, DType::f32);
}

TEST(Start, OtherTypesAndWhatLiesApartAreSumsOfTheirOwn) {
  Summing plan;
  std::vector<uint32_t> bucket = {
      plan.add(fb::DType::f32, 4, 64), plan.add(fb::DType::bf16, 4, 128),
      plan.add(fb::DType::bf16, 4, 256), plan.add(fb::DType::bf16, 4, 0)};
  auto collectives = std::make_shared<RecordedCollectives>();
  OpenSums sums(collectives);
  ASSERT_TRUE(plan.prepare(startOf(bucket), &sums)->run().ok());
  ASSERT_EQ(collectives->begun.size(), 4u);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(collectives->begun[i].count, 4u);
  EXPECT_EQ(collectives->begun[3].data, plan.arena);
}

TEST(Start, OneRankAloneSumsNothing) {
  Summing plan;
  uint32_t buffer = plan.add(fb::DType::f32, 4, 0);
  EXPECT_TRUE(plan.prepare(startOf({buffer}), nullptr)->run().ok());
}

TEST(Start, RefusesWhatCannotBeSummed) {
  const std::string where =
      "adder: plan 0 (cpu:x86-64-v2): graph train: command 4 (start): ";
  auto words = [](uint32_t buffer) {
    return wordsAfter(
        [&](auto &made) { made.add("start", startOf({kSum, buffer})); });
  };
  EXPECT_EQ(words(99), where + "names buffer 99 of 8");
  EXPECT_EQ(words(kTotal), where + "sums buffer 0, which is not in the arena");
  EXPECT_EQ(words(kConstant),
            where + "would write to buffer 6, which is a constant");
  EXPECT_EQ(words(kScratch), where + "sums u8, expected floats or i64");
}
