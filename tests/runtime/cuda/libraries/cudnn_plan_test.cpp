// Which engine is taken, of those that a stub of cuDNN has, the best first:
//   6 has notes that cannot be read; 7 is not deterministic; 8 tensor cores,
//   tuned; 9 rounds what it reads; 3 with 5000 bytes of workspace; 4 cannot be
//   built; 5 with 1000; 1 with 2000, which is one of the fallback.

#include "runtime/cuda/libraries/cudnn_plan.h"

#include "runtime/cuda/libraries/cudnn_convolution.h"

#include "tests/runtime/cuda/convolutions.h"
#include "tests/runtime/cuda/libraries/cudnn_stub.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using gradus::artifact::DType;
using gradus::artifact::LibraryCommandT;
using gradus::artifact::LibraryOp;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

LibraryCommandT of(DType dtype) {
  return convolution(LibraryOp::convolution, {4, 6, 8, 3, 1, 1}, 2, dtype,
                     true);
}

struct CudnnPlan : CudnnStub {
  using CudnnStub::CudnnStub;
  std::string chosen(DType dtype, uint64_t scratch) {
    auto call = prepare(of(dtype), scratch);
    return call ? inWords(call->algorithm(), " ", call->scratchBytes()) : "";
  }
};

/// Before 9.2.
struct CudnnThatStatesNothing : CudnnPlan {
  CudnnThatStatesNothing() : CudnnPlan("cudnn_9_1") {}
};

} // namespace

TEST_F(CudnnPlan, IsTheFirstThatGivesTheSameBitsEachTime) {
  EXPECT_EQ(chosen(DType::bf16, 0), "eng8_k2=3_k5=-4 0");
}

/// Tensor cores round f32 to TF32, and large transforms cancel digits.
TEST_F(CudnnPlan, LeavesF32AsItIs) {
  EXPECT_EQ(chosen(DType::f32, 5000), "eng3 5000");
}

TEST_F(CudnnPlan, FitsTheScratchOrTakesTheLeast) {
  EXPECT_EQ(chosen(DType::f32, 4999), "eng5 1000");
  EXPECT_EQ(chosen(DType::f32, 10), "eng5 1000");
}

/// Where memory is plenty, scratch beside the plan's is better than a later
/// choice.
TEST_F(CudnnPlan, TakesScratchThatIsLentForAnEarlierChoice) {
  server->lend(4999);
  EXPECT_EQ(chosen(DType::f32, 10), "eng5 1000");
  server->lend(5000);
  EXPECT_EQ(chosen(DType::f32, 10), "eng3 5000");
  // What was measured is another's to choose, for the plan's scratch.
  PackedCommand command(of(DType::f32));
  EXPECT_FALSE(server->prepareWith("eng3", *command, 4999).ok());
}

/// Those that do not serve count.
TEST_F(CudnnPlan, SaysWhichChoiceItIsAndWhetherByTensorCores) {
  auto session = cudnn::openSession();
  ASSERT_TRUE(session.ok()) << session.status();
  for (auto [dtype, choice, hasTensorCores] :
       {std::tuple(DType::bf16, 3u, true), {DType::f32, 8u, false}}) {
    PackedCommand command(of(dtype));
    auto graph = cudnn::convolutionGraph(**session, *command);
    ASSERT_TRUE(graph.ok()) << graph.status();
    auto plan = cudnn::choosePlan(**session, *graph, 5000);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->choice, choice);
    EXPECT_EQ(plan->hasTensorCores, hasTensorCores);
  }
}

/// Building takes seconds: what states more than there is, is left out.
TEST_F(CudnnPlan, IsBuiltAloneWhereEnginesStateTheirWorkspace) {
  for (uint64_t scratch : {4999, 10}) {
    written();
    EXPECT_EQ(chosen(DType::f32, scratch), "eng5 1000");
    std::string words = written();
    EXPECT_THAT(words, HasSubstr("plan of engine 5\n"));
    EXPECT_THAT(words, Not(HasSubstr("plan of engine 3\n")));
    EXPECT_THAT(words, Not(HasSubstr("plan of engine 1\n")));
  }
}

/// The fallback is looked at too.
TEST_F(CudnnThatStatesNothing, IsAskedByBuilding) {
  EXPECT_EQ(chosen(DType::f32, 10), "eng5 1000");
  EXPECT_THAT(written(), HasSubstr("plan of engine 3\nplan of engine 5\n"
                                   "plan of engine 1\n"));
}

TEST_F(CudnnPlan, HasAlgorithmsAsText) {
  PackedCommand command(of(DType::bf16));
  auto all = server->algorithms(*command, 4000);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->library, "cudnn 91800");
  EXPECT_THAT(all->texts, ElementsAre("eng8_k2=3_k5=-4", "eng10", "eng11",
                                      "eng12", "eng5", "eng1"));
  auto call = server->prepareWith(all->texts[0], *command, 0);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ((*call)->algorithm(), "eng8_k2=3_k5=-4");
  // Knobs and the engine are what the library is told.
  std::string words = written();
  EXPECT_THAT(words, HasSubstr("\n2: 1300=kind 15 1301=8\n"
                               "7: 600=2 601=3\n7: 600=5 601=-4\n"
                               "3: 300=kind 2 302=kind 7,kind 7\n"
                               "plan of engine 8\n"));
}

TEST_F(CudnnPlan, RefusesAlgorithmsThatDoNotServe) {
  PackedCommand command(of(DType::f32));
  auto words = [&](const std::string &text) {
    return server->prepareWith(text, *command, 1000).status().message();
  };
  for (const char *text : {"", "eng", "eng5_", "eng5_k2", "eng5_k2=", "eng5 ",
                           "00000000000000000000000000000000"})
    EXPECT_EQ(words(text), inWords("algorithm '", text,
                                   "' of cuDNN is not of the form eng1_k2=3"));
  EXPECT_THAT(words("eng99"), HasSubstr("taking engine 99 for convolution of "
                                        "2x4x6x6xf32 and 8x4x3x3xf32: the "
                                        "stub's words"));
  for (const char *text : {"eng7", "eng8", "eng10", "eng11", "eng12"})
    EXPECT_EQ(words(text),
              inWords("algorithm ", text,
                      " of cuDNN is not deterministic, or loses digits"));
  EXPECT_EQ(words("eng3"), "algorithm eng3 of cuDNN needs 5000 bytes of "
                           "scratch, and there are 1000");
}
