#include "summing.h"

#include "tests/runtime/refusals.h"

#include <cmath>

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

//===-- groups ------------------------------------------------------------===//

static fb::StartCommandT startInGroups(std::vector<uint32_t> buffers,
                                       uint32_t within) {
  fb::StartCommandT start = startOf(std::move(buffers));
  start.groups = std::make_unique<fb::RankGroupsT>();
  start.groups->within = within;
  start.groups->averages = true;
  start.groups->across = fb::Across::adasum;
  return start;
}

TEST(Start, CombinesItsBuffersInGroupsAsOneCollective) {
  Summing plan;
  std::vector<uint32_t> bucket = {plan.add(fb::DType::f32, 5, 0),
                                  plan.add(fb::DType::f32, 0, 64),
                                  plan.add(fb::DType::f32, 16, 64)};
  auto collectives = std::make_shared<RecordedCollectives>();
  OpenSums sums(collectives);
  ASSERT_TRUE(plan.prepare(startInGroups(bucket, 1), &sums)->run().ok());
  ASSERT_EQ(collectives->begun.size(), 1u);
  const Collective &begun = collectives->begun[0];
  EXPECT_EQ(begun.op, CollectiveOp::groupReduce);
  EXPECT_EQ(begun.count, 21u);
  EXPECT_EQ(begun.groups->across, Across::adasum);
  EXPECT_TRUE(begun.groups->averages);
  ASSERT_EQ(begun.groups->members.size(), 3u);
  EXPECT_EQ(begun.groups->members[0].data, plan.arena);
  EXPECT_EQ(begun.groups->members[2].count, 16u);
}

/// Parts of two buffers do not follow each other.
TEST(Start, GathersEachBufferByItself) {
  Summing plan;
  std::vector<uint32_t> bucket = {plan.add(fb::DType::i32, 32, 0),
                                  plan.add(fb::DType::i32, 32, 128)};
  fb::StartCommandT start = startInGroups(bucket, 1);
  start.groups->across = fb::Across::gather;
  auto collectives = std::make_shared<RecordedCollectives>();
  OpenSums sums(collectives);
  ASSERT_TRUE(plan.prepare(start, &sums)->run().ok());
  ASSERT_EQ(collectives->begun.size(), 2u);
  EXPECT_EQ(collectives->begun[1].op, CollectiveOp::allGather);
  EXPECT_EQ(collectives->begun[1].data, plan.arena + 128);
  EXPECT_EQ(collectives->begun[1].count, 32u);
  EXPECT_EQ(collectives->begun[1].type, DType::i32);
}

TEST(Start, RefusesGroupsThatMeanNothing) {
  const std::string where =
      "adder: plan 0 (cpu:x86-64-v2): graph train: command 4 (start): ";
  auto words = [](auto change, std::vector<uint32_t> buffers = {kSum}) {
    return wordsAfter([&](auto &made) {
      fb::StartCommandT start = startInGroups(std::move(buffers), 1);
      change(*start.groups);
      made.add("start", std::move(start));
    });
  };
  auto nothing = [](auto &) {};
  EXPECT_EQ(words([](auto &groups) { groups.within = 4294967295u; }),
            where + "has groups of 4294967295 ranks, expected at most "
                    "2147483647");
  EXPECT_EQ(words([](auto &groups) { groups.across = fb::Across(9); }),
            where + "combines groups in the way 9, expected at most 3");
  EXPECT_EQ(words([](auto &groups) {
              groups.across = fb::Across::gather;
              groups.within = 2;
            }),
            where + "gathers groups of 2 ranks, expected 1");
  EXPECT_EQ(words([](auto &groups) { groups.epsilon = -1; }),
            where + "has the epsilon -1, expected a finite number from 0 on");
  for (double epsilon : {double(NAN), double(INFINITY)})
    EXPECT_EQ(words([&](auto &groups) { groups.epsilon = epsilon; }),
              where + "has the epsilon " +
                  (std::isnan(epsilon) ? "nan" : "inf") +
                  ", expected a finite number from 0 on");
  EXPECT_EQ(words(nothing, {}),
            where + "combines 0 buffers in groups, expected 1 to 1048576");
  EXPECT_EQ(words(nothing, std::vector<uint32_t>((1 << 20) + 1, kSum)),
            where + "combines 1048577 buffers in groups, expected 1 to "
                    "1048576");
}

TEST(Start, RefusesGroupsOfOtherTypesThanOne) {
  auto words = [](std::vector<fb::DType> types) {
    return wordsAfter([&](auto &made) {
      std::vector<uint32_t> buffers;
      for (fb::DType type : types) {
        buffers.push_back(made.addArena(4));
        made.plan().buffers.back()->type->dtype = type;
      }
      made.add("start", startInGroups(buffers, 1));
    });
  };
  const std::string where = "adder: plan 0 (cpu:x86-64-v2): graph train: "
                            "command 4 (start): combines ";
  const std::string expected = " in groups, expected f32 alone or f64 alone";
  EXPECT_EQ(words({fb::DType::f32, fb::DType::f16}), where + "f16" + expected);
  EXPECT_EQ(words({fb::DType::bf16}), where + "bf16" + expected);
}

//===-- parts -------------------------------------------------------------===//

static fb::StartCommandT startOfParts(std::vector<uint32_t> buffers,
                                      fb::Half half) {
  fb::StartCommandT start = startOf(std::move(buffers));
  start.parts = std::make_unique<fb::RankPartsT>();
  start.parts->half = half;
  start.parts->unit = 16;
  return start;
}

/// All ranks are one group, in which each has a part of each buffer.
TEST(Start, BeginsHalfOfASumOfAllRanks) {
  Summing plan;
  std::vector<uint32_t> buffers = {plan.add(fb::DType::f32, 40, 0),
                                   plan.add(fb::DType::f32, 5, 256)};
  for (auto [half, parts] : {std::pair(fb::Half::scatter, Parts::reduce),
                             std::pair(fb::Half::gather, Parts::gather)}) {
    auto collectives = std::make_shared<RecordedCollectives>();
    OpenSums sums(collectives);
    ASSERT_TRUE(plan.prepare(startOfParts(buffers, half), &sums)->run().ok());
    ASSERT_EQ(collectives->begun.size(), 1u);
    const Collective &begun = collectives->begun[0];
    EXPECT_EQ(begun.op, CollectiveOp::groupReduce);
    EXPECT_EQ(begun.groups->parts, parts);
    EXPECT_EQ(begun.groups->unit, 16u);
    EXPECT_EQ(begun.groups->across, Across::nothing);
    EXPECT_FALSE(begun.groups->averages);
    EXPECT_GE(begun.groups->within, 8192);
    ASSERT_EQ(begun.groups->members.size(), 2u);
    EXPECT_EQ(begun.groups->members[0].count, 40u);
    EXPECT_EQ(begun.groups->members[1].data, plan.arena + 256);
  }
}

TEST(Start, RefusesPartsThatMeanNothing) {
  const std::string where =
      "adder: plan 0 (cpu:x86-64-v2): graph train: command 4 (start): ";
  auto words = [](auto change) {
    return wordsAfter([&](auto &made) {
      fb::StartCommandT start = startOfParts({kSum}, fb::Half::scatter);
      change(start);
      made.add("start", std::move(start));
    });
  };
  EXPECT_EQ(words([](auto &start) { start.parts->half = fb::Half(7); }),
            where + "is the half 7 of a sum, expected at most 1");
  EXPECT_EQ(words([](auto &start) { start.parts->unit = 0; }),
            where +
                "has parts in multiples of 0 elements, expected 1 to 65536");
  EXPECT_EQ(
      words([](auto &start) { start.parts->unit = 65537; }),
      where + "has parts in multiples of 65537 elements, expected 1 to 65536");
  EXPECT_EQ(words([](auto &start) { start.buffers.clear(); }),
            where + "has parts of 0 buffers, expected 1 to 1048576");
  EXPECT_EQ(words([](auto &start) {
              start.groups = std::make_unique<fb::RankGroupsT>();
            }),
            where + "has groups and parts, expected one of them");
  EXPECT_EQ(wordsAfter([](auto &made) {
              uint32_t other = made.addArena(4);
              made.plan().buffers.back()->type->dtype = fb::DType::bf16;
              made.add("start", startOfParts({kSum, other}, fb::Half::gather));
            }),
            where + "has parts of bf16, expected floats of one type");
}
