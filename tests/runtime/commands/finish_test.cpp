#include "summing.h"

#include "tests/runtime/refusals.h"

using namespace gradus::runtime;
using namespace gradus::test;
namespace fb = gradus::artifact;

static fb::FinishCommandT finishOf(std::vector<uint32_t> buffers,
                                   std::vector<uint32_t> results) {
  fb::FinishCommandT finish;
  finish.buffers = std::move(buffers);
  finish.results = std::move(results);
  return finish;
}

TEST(Finish, WaitsAndMovesWhatShallLieElsewhere) {
  Summing plan;
  uint32_t here = plan.add(fb::DType::f32, 4, 0),
           from = plan.add(fb::DType::f32, 4, 64),
           to = plan.add(fb::DType::f32, 4, 128);
  plan.arena[64] = 7;
  auto collectives = std::make_shared<RecordedCollectives>();
  OpenSums sums(collectives);
  std::vector<Collective> two(2);
  sums.begin(two);
  auto finish = plan.prepare(finishOf({here, from}, {here, to}), &sums);
  ASSERT_TRUE(finish->run().ok());
  EXPECT_EQ(collectives->finished.size(), 2u);
  EXPECT_EQ(plan.arena[128], 7);
}

TEST(Finish, MovesNothingOfASumThatFailed) {
  Summing plan;
  uint32_t from = plan.add(fb::DType::f32, 4, 0),
           to = plan.add(fb::DType::f32, 4, 64);
  plan.arena[0] = 7;
  auto collectives = std::make_shared<RecordedCollectives>();
  collectives->failure = failed("rank 1 is dead");
  OpenSums sums(collectives);
  std::vector<Collective> one(1);
  sums.begin(one);
  Status status = plan.prepare(finishOf({from}, {to}), &sums)->run();
  EXPECT_EQ(status.message(), "rank 1 is dead");
  EXPECT_EQ(plan.arena[64], 0);
}

TEST(Finish, OneRankAloneHasItsOwnValues) {
  Summing plan;
  uint32_t from = plan.add(fb::DType::f32, 4, 0),
           to = plan.add(fb::DType::f32, 4, 64);
  plan.arena[0] = 7;
  ASSERT_TRUE(plan.prepare(finishOf({from}, {to}), nullptr)->run().ok());
  EXPECT_EQ(plan.arena[64], 7);
}

TEST(Finish, RefusesResultsThatDoNotFit) {
  const std::string where =
      "adder: plan 0 (cpu:x86-64-v2): graph train: command 4 (finish): ";
  auto words = [](std::vector<uint32_t> results) {
    return wordsAfter([&](auto &made) {
      made.addArena(4);                          // buffer 8
      made.plan().buffers[kShifted]->offset = 0; // as kX
      made.plan().buffers.push_back(
          std::make_unique<fb::BufferT>(*made.plan().buffers[kSum]));
      made.plan().buffers.back()->type->shape = {32}; // buffer 9
      made.plan().buffers.back()->size = 128;
      made.add("finish", finishOf({kSum}, results));
    });
  };
  EXPECT_EQ(words({}), where + "has 0 results of 1 sums");
  EXPECT_EQ(words({99}), where + "names buffer 99 of 10");
  EXPECT_EQ(words({8}), where + "puts a sum of 8xf32 where there is 4xf32");
  EXPECT_EQ(words({kConstant}),
            where + "would write to buffer 6, which is a constant");
}

TEST(Finish, RefusesToMoveASumByLessThanItsSize) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              uint32_t from = made.addArena(32), to = made.addArena(32);
              made.plan().buffers[to]->offset =
                  made.plan().buffers[from]->offset + 64;
              made.add("finish", finishOf({from}, {to}));
            }),
            "adder: plan 0 (cpu:x86-64-v2): graph train: command 4 (finish): "
            "copies 128 bytes to a place 64 bytes from where they are");
}
