#include "tests/runtime/refusals.h"

#include <gtest/gtest.h>

using namespace gradus::test;
namespace fb = gradus::artifact;

TEST(VerifyProgram, RefusesStatesWithoutANameOrWithAnothers) {
  EXPECT_EQ(wordsAfter([](auto &made) { made.header.states[1]->name = ""; }),
            "adder: state 1 (): has no name");
  EXPECT_EQ(
      wordsAfter([](auto &made) { made.header.states[1]->name = "total"; }),
      "adder: state 1 (total): has the name of another");
}

TEST(VerifyProgram, RefusesNamesThatFilesCannotHold) {
  EXPECT_EQ(
      wordsAfter([](auto &made) { made.header.states[1]->name = "w\xE9"; }),
      "adder: state 1 (w\\xE9): its name is not UTF-8");
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.header.states[1]->name = "__metadata__";
            }),
            "adder: state 1 (__metadata__): its name is the one that "
            ".safetensors files keep for themselves");
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.header.graphs[0]->inputs[0]->name = "\xFF";
            }),
            "adder: graph 0 (train): input 0 (\\xFF): its name is not UTF-8");
  EXPECT_EQ(wordsAfter([](auto &made) { made.header.name = "mod\xE9le"; }),
            "adder: the program's name mod\\xE9le is not UTF-8");
}

TEST(VerifyProgram, RefusesTypesThatCannotBe) {
  EXPECT_EQ(
      wordsAfter([](auto &made) { made.header.states[0]->type->shape = {-1}; }),
      "adder: state 0 (total): has impossible sizes: -1xf32");
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.header.states[0]->type->shape = {int64_t{1} << 40,
                                                    int64_t{1} << 40};
            }),
            "adder: state 0 (total): has impossible sizes: "
            "1099511627776x1099511627776xf32");
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.header.states[0]->type->dtype = static_cast<fb::DType>(99);
            }),
            "adder: state 0 (total): has dtype 99, which is unknown");
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.header.graphs[0]->inputs[0]->type = nullptr;
            }),
            "adder: graph 0 (train): input 0 (x): has no type");
}

/// A rank's part of a state is of the type of the whole, and all ranks' parts
/// have its elements.
TEST(VerifyProgram, RefusesPartsThatAreNoPartsOfAWhole) {
  auto words = [](std::vector<int64_t> whole, int64_t ranks,
                  fb::DType type = fb::DType::f32) {
    return wordsAfter([&](auto &made) {
      made.header.ranks = ranks;
      fb::StateT &state = *made.header.states[0];
      state.type->shape = {8};
      state.per_rank = true;
      state.role = fb::Role::slot;
      state.has_initial = false;
      state.whole = std::make_unique<fb::TensorTypeT>();
      state.whole->dtype = type;
      state.whole->shape = std::move(whole);
    });
  };
  EXPECT_EQ(words({3, 5}, 2), "ok");
  EXPECT_EQ(words({17}, 2), "adder: state 0 (total): has 32 bytes on each of 2 "
                            "ranks, too few for the whole of 68");
  EXPECT_EQ(words({8}, 0),
            "adder: state 0 (total): is a rank's part, and the file does not "
            "say how many ranks there are");
  EXPECT_EQ(words({8}, 2, fb::DType::f16),
            "adder: state 0 (total): is a part of 8xf32 of a whole of 8xf16");
  EXPECT_EQ(words({-1}, 2),
            "adder: state 0 (total): the whole: has impossible sizes: -1xf32");
}

/// The model's own states are never dealt out, and numbers have one element.
TEST(VerifyProgram, RefusesPartsOfWhatRanksShare) {
  auto words = [](auto change) {
    return wordsAfter([&](auto &made) {
      made.header.ranks = 2;
      fb::StateT &state = *made.header.states[0];
      state.whole = std::make_unique<fb::TensorTypeT>(*state.type);
      state.per_rank = true;
      state.role = fb::Role::slot;
      change(state);
    });
  };
  const std::string notOwn =
      "adder: state 0 (total): is a rank's part of a tensor, expected a state "
      "that each rank has of its own, and none of the model";
  EXPECT_EQ(words([](fb::StateT &) {}), "ok");
  EXPECT_EQ(words([](fb::StateT &state) { state.per_rank = false; }), notOwn);
  EXPECT_EQ(words([](fb::StateT &state) { state.role = fb::Role::parameter; }),
            notOwn);
  EXPECT_EQ(words([](fb::StateT &state) { state.role = fb::Role::buffer; }),
            notOwn);
  EXPECT_EQ(words([](fb::StateT &state) { state.limit = 2; }),
            "adder: state 0 (total): is a rank's part of a tensor, and has the "
            "range of a number");
}

TEST(VerifyProgram, RefusesAnUnknownRole) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.header.states[2]->role = static_cast<fb::Role>(77);
            }),
            "adder: state 2 (step): has role 77, which is unknown");
}

TEST(VerifyProgram, RefusesInitialValuesOutsideTheWeights) {
  EXPECT_EQ(wordsAfter([](auto &made) { made.header.states[0]->initial = 4; }),
            "adder: state 0 (total): its initial value of 32 bytes at 4 lies "
            "outside the "
            "weights, which have 32 bytes");
  EXPECT_NE(wordsAfter([](auto &made) {
              made.header.states[0]->initial = ~uint64_t{0};
            }),
            "ok");
}

/// Ranks read their parts of the whole, of which the last may end behind it.
TEST(VerifyProgram, RefusesAWholeOutsideTheWeights) {
  auto words = [](int64_t whole) {
    return wordsAfter([&](auto &made) {
      made.header.ranks = 3;
      fb::StateT &state = *made.header.states[0];
      state.per_rank = true;
      state.role = fb::Role::slot;
      state.whole = std::make_unique<fb::TensorTypeT>(*state.type);
      state.whole->shape = {whole};
      state.type->shape = {3};
    });
  };
  EXPECT_EQ(words(8), "ok");
  EXPECT_EQ(words(9),
            "adder: state 0 (total): its initial value of 36 bytes at "
            "0 lies outside the weights, which have 32 bytes");
}

TEST(VerifyProgram, RefusesTwoGraphsOrPortsOfOneName) {
  EXPECT_EQ(
      wordsAfter([](auto &made) { made.header.graphs[1]->name = "train"; }),
      "adder: graph 1 (train): has the name of another");
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.header.graphs[0]->outputs[1]->name = "sum";
            }),
            "adder: graph 0 (train): output 1 (sum): has the name of another");
}

static std::string wordsForSchedule(std::vector<uint32_t> variants,
                                    std::vector<int64_t> every,
                                    std::string counter = "",
                                    std::vector<int64_t> at = {}) {
  return wordsAfter([&](TestArtifact &made) {
    fb::ScheduleT schedule;
    schedule.graph = "train";
    schedule.variants = variants;
    schedule.every = every;
    schedule.counter = counter;
    schedule.at = at;
    made.header.schedules.push_back(std::make_unique<fb::ScheduleT>(schedule));
  });
}

TEST(VerifyProgram, RefusesSchedulesOfGraphsThatDoNotExist) {
  EXPECT_EQ(wordsAfter([](TestArtifact &made) {
              fb::ScheduleT schedule;
              schedule.graph = "pretrain";
              schedule.variants = {0};
              made.header.schedules.push_back(
                  std::make_unique<fb::ScheduleT>(schedule));
            }),
            "adder: schedule 0 (pretrain): is of a graph that does not exist");
}

TEST(VerifyProgram, RefusesSchedulesThatCannotRun) {
  EXPECT_EQ(wordsForSchedule({0}, {2}), "ok");
  EXPECT_EQ(wordsForSchedule({}, {}),
            "adder: schedule 0 (train): has no variants");
  EXPECT_EQ(wordsForSchedule({7}, {}),
            "adder: schedule 0 (train): names graph 7 of 2");
  EXPECT_EQ(wordsForSchedule({0}, {0}),
            "adder: schedule 0 (train): has a period of 0 steps");
  EXPECT_EQ(wordsForSchedule({0}, {1, 2}),
            "adder: schedule 0 (train): has more periods than variants");
  EXPECT_EQ(wordsForSchedule({0}, {2}, "", {1, 2}),
            "adder: schedule 0 (train): has more periods than variants");
  EXPECT_EQ(wordsForSchedule({0}, {2}, "updates"),
            "adder: schedule 0 (train): has no counter updates");
  EXPECT_EQ(wordsForSchedule({0, 1}, {}),
            "adder: schedule 0 (train): graphs train and evaluate "
            "have different inputs or outputs");
  EXPECT_EQ(wordsForSchedule({1}, {}),
            "adder: schedule 0 (train): graphs train and evaluate "
            "have different inputs or outputs");
}

TEST(VerifyProgram, RefusesCopiesThatNothingMakes) {
  auto words = [](const char *name, bool port) {
    return wordsAfter([&](TestArtifact &made) {
      made.header.states[1]->role = fb::Role::copy;
      made.header.graphs[1]->name = name;
      if (!port)
        made.header.graphs[1]->outputs.clear();
      for (auto &plan : made.header.plans)
        if (!port)
          plan->graphs[1]->outputs.clear();
    });
  };
  const char *problem = "adder: has copies, but no graph round_weights without "
                        "inputs and outputs to make them";
  EXPECT_EQ(words("evaluate", true), problem);
  EXPECT_EQ(words("round_weights", true), problem);
  EXPECT_EQ(words("round_weights", false), "ok");
}

TEST(VerifyProgram, RefusesLogicalRanksThatAreNoPowerOfTwo) {
  for (int64_t ranks : {0, 1, 8, 65536})
    EXPECT_EQ(wordsAfter([&](auto &made) {
                if (ranks > 0)
                  made.addTurns();
                made.header.logical_ranks = ranks;
              }),
              "ok");
  for (const char *ranks : {"3", "-2", "-9223372036854775808", "131072"})
    EXPECT_EQ(wordsAfter([&](auto &made) {
                made.header.logical_ranks = std::stoll(ranks);
              }),
              std::string("adder: has ") + ranks +
                  " logical ranks, expected 0 or a power of two up to 65536");
}

TEST(VerifyProgram, RefusesLogicalRanksWithoutTurns) {
  const char *state = "adder: has 2 logical ranks, and no state "
                      "distribution.turn of the role place, which counts their "
                      "turns";
  const char *schedule = "adder: has 2 logical ranks, and no schedule of the "
                         "graph train by distribution.turn";
  EXPECT_EQ(wordsAfter([](auto &made) { made.header.logical_ranks = 2; }),
            state);
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.addTurns();
              made.header.states[3]->role = fb::Role::counter;
            }),
            state);
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.addTurns();
              made.header.schedules.clear();
            }),
            schedule);
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.addTurns();
              made.header.schedules[0]->counter = "step";
            }),
            schedule);
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.addTurns();
              made.header.schedules[0]->graph = "train_final";
            }),
            schedule);
  // One logical rank is one call, and what does not train takes no steps.
  EXPECT_EQ(wordsAfter([](auto &made) { made.header.logical_ranks = 1; }),
            "ok");
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.header.logical_ranks = 2;
              made.header.graphs[0]->name = "learn";
            }),
            "ok");
}

TEST(VerifyProgram, RefusesPlacesThatNobodyKnows) {
  EXPECT_EQ(wordsAfter([](auto &made) { made.addTurns(); }), "ok");
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.header.states[2]->role = fb::Role::place;
            }),
            "adder: state 2 (step): is a place, expected one of the names "
            "distribution.rank, distribution.ranks and distribution.turn");
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.addTurns();
              made.header.logical_ranks = 0;
            }),
            "adder: state 3 (distribution.turn): is the turn of a logical "
            "rank, and there are none");
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.addTurns();
              made.header.states[3]->type->shape = {1};
            }),
            "adder: state 3 (distribution.turn): is a place of 1xi64, expected "
            "a scalar of i64");
}
