// What was measured is counted by card, and what serves nothing is said.

#include "tool/tune/tuned_calls.h"

#include "tests/tool/product.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

/// Those of processors are not counted: no card serves them.
TEST(CountTuned, CountsCallsOfPlansForGpus) {
  gradus::test::TestArtifact adder;
  addProduct(adder);
  addProduct(adder);
  adder.addGpuPlan();
  auto &second =
      *adder.header.plans[1]->graphs[0]->commands[5]->kind.AsLibraryCommand();
  auto count = [&] {
    return countTuned(
        **gradus::runtime::Artifact::fromBytes(adder.bytes(), "a"));
  };
  EXPECT_EQ(count().calls, 1u);
  EXPECT_EQ(count().tuned, 0u);
  EXPECT_EQ(count().text(), "0 of 1 calls of libraries on GPUs");
  activationOf(second) = gradus::artifact::Activation::relu;
  for (const char *card : {"one", "other"}) {
    second.choices.push_back(
        std::make_unique<gradus::artifact::LibraryChoiceT>());
    second.choices.back()->card = card;
  }
  EXPECT_EQ(count().calls, 2u);
  EXPECT_EQ(count().tuned, 1u);
  EXPECT_EQ(count().ofCard,
            (std::map<std::string, size_t>{{"one", 1}, {"other", 1}}));
  EXPECT_EQ(count().text(),
            "1 of 2 calls of libraries on one, 1 of 2 on other");
}

TEST(WarningsOfUnused, NameTheCardsWhoseAlgorithmsServeNothing) {
  gradus::test::TestArtifact adder;
  auto warnings = [&] {
    return warningsOfUnused(
        {{"matmul 1", "one", "cublaslt 1", "x"},
         {"matmul 2", "one", "cublaslt 1", "x"}},
        **gradus::runtime::Artifact::fromBytes(adder.bytes(), "a"));
  };
  EXPECT_EQ(warnings(),
            std::vector<std::string>{"is for GPUs, and the artifact has no "
                                     "plan for them; --target cuda adds it"});
  adder.addGpuPlan();
  EXPECT_EQ(warnings(),
            std::vector<std::string>{"none of the 2 algorithms for one is "
                                     "used: the plan calls no library"});
}
