// The bits of a run with logical ranks are those of as many processes, on any
// number of them, also where that changes in the middle.

#include "programs.h"
#include "sessions.h"

using namespace gradus;

namespace {

using Bits = std::map<std::string, std::vector<uint8_t>>;

constexpr int kLogical = 8;
const std::string kAdamW = ", optimizer = {type = \"adamw\", learning_rate = "
                           "0.01, weight_decay = 0.1}, deterministic = true";
const std::string kLogicalKey =
    ", logical_ranks = " + std::to_string(kLogical) + " : i64";

std::vector<char> artifactOf8(const char *program, const std::string &recipe,
                              const std::string &distribution = "") {
  return artifactOf(
      onRanks(program, recipe + kAdamW, kLogicalKey + distribution));
}

/// Runs the steps from `first` to before `last`, of several turns each.
void train(RankSessions &group, int first, int last) {
  int turns = kLogical / group.ranks();
  group.onEach([&](int rank) {
    Compiled &own = group.on(rank);
    runtime::Session &session = own.session();
    const auto &info = session.graphs()[session.findGraph("train")];
    for (int step = first; step < last; ++step) {
      NamedTensors all = batchOf(own, step, kLogical);
      all["label"].integers[5] = -100; // is ignored, of the second rank
      for (int turn = 0; turn < turns; ++turn)
        own.run("train", partOf(all, info, rank * turns + turn));
    }
  });
}

Bits trained(const std::vector<char> &artifact, int processes, int steps) {
  RankSessions group(artifact, processes);
  train(group, 0, steps);
  group.expectReplicas();
  return group.replicated(0);
}

/// Puts what one group has learned into another.
void hand(RankSessions &from, RankSessions &to) {
  for (int rank = 0; rank < to.ranks(); ++rank)
    for (const auto &[name, bytes] : from.replicated(0))
      EXPECT_TRUE(to.on(rank)
                      .session()
                      .writeState(name, bytes.data(), bytes.size())
                      .ok());
}

void expectSame(const Bits &found, const Bits &expected) {
  EXPECT_EQ(found.size(), expected.size());
  for (const auto &[name, bits] : expected)
    EXPECT_EQ(found.at(name), bits) << name;
}

void expectSameOnAll(const std::vector<char> &artifact) {
  Bits bits = trained(artifact, kLogical, 10);
  for (int processes : {1, 2, 4}) {
    SCOPED_TRACE(std::to_string(processes) + " processes");
    expectSame(trained(artifact, processes, 10), bits);
  }
}

} // namespace

TEST(LogicalRanks, TrainTheSameBitsOnAnyNumberOfProcesses) {
  expectSameOnAll(artifactOf8(kDense, kCrossEntropy));
}

TEST(LogicalRanks, NormalizeTheSameBits) {
  for (const char *kind : {"average", "local"})
    expectSameOnAll(
        artifactOf8(kNormalized, kCrossEntropy,
                    std::string(", batch_norm = \"") + kind + "\""));
}

TEST(LogicalRanks, AttendTheSameBits) {
  expectSameOnAll(artifactOf8(kAttending, kCrossEntropy));
}

TEST(LogicalRanks, TravelInBucketsOfAnySize) {
  auto small = artifactOf8(kDense, kCrossEntropy, ", bucket_bytes = 1 : i64");
  auto large = artifactOf8(kDense, kCrossEntropy);
  expectSame(trained(small, 2, 5), trained(large, 4, 5));
}

TEST(LogicalRanks, GoOnOnAnotherNumberOfProcesses) {
  auto artifact = artifactOf8(kDense, kCrossEntropy);
  RankSessions four(artifact, 4), two(artifact, 2);
  train(four, 0, 7);
  hand(four, two);
  train(two, 7, 12);
  expectSame(two.replicated(1), trained(artifact, 8, 12));
}

// A product before a sum must be rounded before anything is added to it.
TEST(LogicalRanks, UnscaleToTheSameBits) {
  for (const char *program : {kDense, kNormalized, kAttending})
    expectSameOnAll(artifactOf8(
        program, kCrossEntropy +
                     ", loss_scale = {type = \"static\", initial = 1000.0}"));
}

TEST(LogicalRanks, RoundToTheSameBits) {
  for (const char *precision : {"bf16", "f16"})
    for (const char *program : {kDense, kNormalized, kAttending})
      expectSameOnAll(artifactOf8(program, kCrossEntropy + ", precision = \"" +
                                               precision + "\""));
}

// As many processes without the key sum the same tree.
TEST(LogicalRanks, AreThoseOfAsManyProcesses) {
  auto plain = artifactOf(
      onRanks(kDense, kCrossEntropy + kAdamW, ", loss_mean = \"rank\""));
  auto logical = artifactOf8(kDense, kCrossEntropy, ", loss_mean = \"rank\"");
  expectSame(trained(logical, 2, 5), trained(plain, kLogical, 5));
}
