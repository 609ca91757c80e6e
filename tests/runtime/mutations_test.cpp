// The promise of docs/contracts.md: damage is an error or harmless, never a
// crash. `./dev fuzz` has the same changes for as long as one likes.

#include "mutations.h"
#include "test_artifact.h"

#include <gtest/gtest.h>

#include <chrono>

namespace gradus::test {

/// For one of the two kinds.
constexpr std::chrono::milliseconds kBudget(1500);

/// Adds a command for each op of libraries, of which some are refused later
/// than others.
static void addLibraryCalls(artifact::GraphPlanT &graph) {
  for (auto op : {artifact::LibraryOp::matmul, artifact::LibraryOp::convolution,
                  artifact::LibraryOp::attention}) {
    artifact::LibraryCommandT call;
    call.op = opOf(op);
    call.scratch = UINT32_MAX;
    bool attends = op == artifact::LibraryOp::attention;
    std::vector<int64_t> dims(attends ? 4 : 3, 1);
    for (auto *list : {&call.inputs, &call.outputs})
      for (size_t i = attends && list == &call.inputs ? 3 : 2; i > 0; --i) {
        list->push_back(std::make_unique<artifact::LibraryTensorT>());
        list->back()->buffer = list == &call.inputs ? kX : kSum;
        list->back()->dims = dims;
      }
    if (!attends)
      call.outputs.resize(1);
    auto command = std::make_unique<artifact::CommandT>();
    command->kind.Set(std::move(call));
    graph.commands.push_back(std::move(command));
  }
}

/// Adds two sums over ranks that are under way at once. The first has two
/// buffers that lie together and one that lies apart.
static void addSums(TestArtifact &artifact) {
  uint32_t apart = artifact.addArena(5), other = artifact.addArena(7);
  std::vector<uint32_t> first = {kSum, kShifted, apart}, second = {other};
  for (const auto &buffers : {first, second}) {
    artifact::StartCommandT start;
    start.number = buffers == second;
    start.buffers = buffers;
    artifact.add("start", std::move(start));
  }
  for (const auto &buffers : {first, second}) {
    artifact::FinishCommandT finish;
    finish.number = buffers == second;
    finish.buffers = finish.results = buffers;
    artifact.add("finish", std::move(finish));
  }
}

/// Adds a selection of two of eight numbers, and a gathering of lines of ranks.
static void addSelection(TestArtifact &artifact) {
  artifact::SelectCommandT select;
  select.input = kX;
  select.threshold = artifact.addArena(1);
  select.indices = artifact.addArena(2);
  artifact.plan().buffers[select.indices]->type->dtype = artifact::DType::i32;
  select.values = artifact.addArena(2);
  // For each part 16 counts, and two elements with their indices.
  select.scratch = artifact.addArena(2 * (16 + 2 * 2));
  select.parts = 2;
  select.digit_bits = 4;
  select.listed = 2;
  artifact.add("select", std::move(select));
  std::vector<uint32_t> sent = {artifact.addArena(96)};
  artifact::StartCommandT start;
  start.number = 2;
  start.buffers = sent;
  start.groups = std::make_unique<artifact::RankGroupsT>();
  start.groups->within = 1;
  start.groups->across = artifact::Across::gather;
  artifact.add("start", std::move(start));
  artifact::FinishCommandT finish;
  finish.number = 2;
  finish.buffers = finish.results = sent;
  artifact.add("finish", std::move(finish));
}

static MutationCounts mutate(Hashes hashes) {
  using Clock = std::chrono::steady_clock;
  TestArtifact artifact;
  artifact.addGpuPlan();
  addSums(artifact);
  addSelection(artifact);
  addLibraryCalls(*artifact.header.plans[1]->graphs[0]);
  auto file = artifact.bytes();
  auto end = Clock::now() + kBudget;
  MutationCounts counts;
  for (int64_t first = 0; first < 2000 || Clock::now() < end; first += 500)
    if (auto wrong = runMutations(file, hashes, 1, first, 500, counts);
        !wrong.empty()) {
      ADD_FAILURE() << wrong;
      break;
    }
  return counts;
}

TEST(Mutations, EveryChangeIsNoticed) {
  auto counts = mutate(Hashes::stored);
  EXPECT_GT(counts.refused, 1900); // some mutations change nothing
}

TEST(Mutations, AForgedArtifactIsRefusedOrRunsWithoutHarm) {
  auto counts = mutate(Hashes::recomputed);
  EXPECT_GT(counts.refused, 100);
  EXPECT_GT(counts.ran, 100);
}

} // namespace gradus::test
