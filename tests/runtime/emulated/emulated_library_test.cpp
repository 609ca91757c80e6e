// Library commands of a plan, served on the emulated card.

#include "runtime/emulated/emulated_library.h"

#include "tests/runtime/cuda/adder_on_card.h"
#include "tests/runtime/cuda/test_library.h"

#include "runtime/cuda/library_nodes.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using namespace gradus::test;

namespace {

struct EmulatedLibrary : AdderOnCard {
  void add(uint32_t from, uint32_t to) {
    adder_.add("scale", callOn(from, to, UINT32_MAX));
    read();
  }
};

} // namespace

/// sum = 3 total and shifted = 3 sum, in any order that bytes allow.
TEST_F(EmulatedLibrary, RunsInGraphsAgainAndAgain) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    FakeOptions options;
    options.seed = seed;
    open(options);
    adder_ = TestArtifact();
    add(kTotal, kSum);
    add(kSum, kShifted);
    auto library = emulatedLibrary(driver());
    EXPECT_FALSE(library->warmsUp());
    LibraryNodes nodes(plan(), *artifact_->kernels(plan()), library.get());
    ASSERT_TRUE(nodes.prepare().ok());
    EXPECT_EQ(nodes.scratchBytes(), 0u);
    StepMemory memory;
    memory.state = filled({1, 2, 3, 4, 5, 6, 7, 8});
    memory.arena = allocate(64);
    memory.constants = filled({3});
    std::vector<Node> list = {nodes.nodesOf(command(4), memory)[0],
                              nodes.nodesOf(command(5), memory)[0],
                              twiceNode(memory.state, 8)};
    auto graph = StepGraph::build(*card_, list, Order::bytes);
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(graph->edges(), 2u);
    for (float factor : {9.f, 18.f}) {
      ASSERT_TRUE(graph->launch(stream_.get()).ok());
      EXPECT_EQ(numbersAt(memory.arena + 128, 3),
                (std::vector<float>{factor, 2 * factor, 3 * factor}));
    }
  }
}

TEST_F(EmulatedLibrary, TakesTheAlgorithmThatWasMeasured) {
  add(kTotal, kSum);
  auto algorithm = [&](bool isSlow) {
    auto call = emulatedLibrary(driver(), {"the emulated GPU", isSlow})
                    ->prepare(command(4), 0);
    EXPECT_TRUE(call.ok()) << call.status();
    return call.ok() ? (*call)->algorithm() : "";
  };
  EXPECT_EQ(algorithm(false), "once");
  EXPECT_EQ(algorithm(true), "twice");
  auto choice = std::make_unique<gradus::artifact::LibraryChoiceT>();
  choice->card = "the emulated GPU";
  choice->library = "emulated 1";
  choice->algorithm = "once";
  auto &choices = adder_.command(4).kind.AsLibraryCommand()->choices;
  choices.push_back(std::move(choice));
  read();
  EXPECT_EQ(algorithm(true), "once");
  choices[0]->algorithm = "thrice";
  read();
  EXPECT_EQ(algorithm(true), "twice");
}

/// BIAS is 4 in cuBLASLt's numbers, and RELU_BIAS 6.
TEST_F(EmulatedLibrary, LacksEpiloguesOnPurpose) {
  activationOf(adder_.add("product", callOn(kTotal, kSum, UINT32_MAX))) =
      gradus::artifact::Activation::relu;
  read();
  EXPECT_TRUE(emulatedLibrary(driver())->prepare(command(4), 0).ok());
  auto library = emulatedLibrary(driver(), {"", false, 4});
  EXPECT_TRUE(library->prepare(command(4), 0).ok());
  auto lack = library->lackOf(command(4));
  ASSERT_TRUE(lack.ok()) << lack.status();
  EXPECT_EQ(*lack, "");
  library = emulatedLibrary(driver(), {"", false, 6});
  EXPECT_EQ(library->prepare(command(4), 0).status().message(),
            "the emulated library has no algorithm with RELU");
  lack = library->lackOf(command(4));
  ASSERT_TRUE(lack.ok()) << lack.status();
  EXPECT_EQ(*lack, "the emulated library has no algorithm with RELU");
}
