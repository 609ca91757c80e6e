// Ranks train the same bits whatever their network does, and they fail
// together. That it is what one process trains is in data_parallel_test.cpp.

#include "programs.h"
#include "sessions.h"

#include <numeric>
#include <unistd.h>

using namespace gradus;
using runtime::CommunicationThread;

namespace {

using Bits = std::map<std::string, std::vector<uint8_t>>;
using Openers = std::vector<runtime::OpenCommunicator>;

void train(RankSessions &group, int first, int last) {
  group.onEach([&](int rank) {
    Compiled &own = group.on(rank);
    runtime::Session &session = own.session();
    const auto &info = session.graphs()[session.findGraph("train")];
    for (int step = first; step < last; ++step)
      own.run("train", partOf(batchOf(own, step, group.ranks()), info, rank));
  });
}

/// The states of a training of so many steps.
Bits trained(const std::vector<char> &artifact, const Openers &openers,
             int steps = 10) {
  RankSessions group(artifact, openers);
  train(group, 0, steps);
  group.expectReplicas();
  return group.replicated(0);
}

/// Puts what one group has learned into another.
void hand(RankSessions &from, RankSessions &to) {
  for (int rank = 0; rank < from.ranks(); ++rank)
    for (const auto &[name, bytes] : from.replicated(rank))
      EXPECT_TRUE(to.on(rank)
                      .session()
                      .writeState(name, bytes.data(), bytes.size())
                      .ok());
}

size_t messagesOf(Compiled &compiled, const std::string &graph) {
  runtime::Session &session = compiled.session();
  const auto *plan = session.plan().graphs()->Get(
      static_cast<unsigned>(session.findGraph(graph)));
  return static_cast<size_t>(
      std::count_if(plan->commands()->begin(), plan->commands()->end(),
                    [](const artifact::Command *command) {
                      return command->kind_as_StartCommand() != nullptr;
                    }));
}

const std::string kSmallBuckets = ", bucket_bytes = 1024 : i64";

} // namespace

//===-- bits --------------------------------------------------------------===//

TEST(Ranks, TrainTheSameBitsInEveryRun) {
  auto artifact = artifactOf(onRanks(kDense, kCrossEntropy));
  for (int ranks : ranksToTest())
    EXPECT_EQ(trained(artifact, runtime::inProcess(ranks)),
              trained(artifact, runtime::inProcess(ranks)));
}

TEST(Ranks, TrainTheSameBitsInBucketsOfAnySize) {
  std::vector<std::vector<char>> artifacts;
  std::vector<size_t> messages;
  for (const char *bytes : {"1", "1024", "16777216"}) {
    artifacts.push_back(artifactOf(
        onRanks(kDense, kCrossEntropy,
                std::string(", bucket_bytes = ") + bytes + " : i64")));
    Compiled compiled(artifacts.back());
    messages.push_back(messagesOf(compiled, "train"));
  }
  EXPECT_GT(messages[0], messages[1]);
  EXPECT_GT(messages[1], messages[2]);
  for (int ranks : ranksToTest()) {
    Bits bits = trained(artifacts[0], runtime::inProcess(ranks));
    EXPECT_EQ(bits, trained(artifacts[1], runtime::inProcess(ranks)));
    EXPECT_EQ(bits, trained(artifacts[2], runtime::inProcess(ranks)));
  }
}

TEST(Ranks, TrainTheSameBitsOverASlowNetwork) {
  auto artifact = artifactOf(onRanks(kDense, kCrossEntropy, kSmallBuckets));
  runtime::Network network{1e7, std::chrono::microseconds(200)};
  for (int ranks : ranksToTest())
    EXPECT_EQ(trained(artifact, runtime::inProcess(ranks)),
              trained(artifact, runtime::inProcess(ranks, network)));
}

/// Sums of several buckets are on their way while kernels run, and are late.
TEST(Ranks, TrainTheSameBitsWithRandomDelays) {
  auto artifact = artifactOf(onRanks(kDense, kCrossEntropy, kSmallBuckets));
  int ranks = ranksToTest().front();
  EXPECT_EQ(trained(artifact, runtime::inProcess(ranks), 1000),
            trained(artifact,
                    runtime::meddling(runtime::inProcess(ranks), {11, 20}),
                    1000));
}

/// Variants of a step have other messages, so all ranks must pick the same.
TEST(Ranks, StayInStepWhereStepsDiffer) {
  auto artifact = artifactOf(
      onRanks(kDense, kCrossEntropy + ", accumulation = 2 : i64, "
                                      "gradient_freeze = {groups = 2 : i64, p "
                                      "= 0.5, total_steps = 25 : i64}"));
  for (int ranks : ranksToTest()) {
    RankSessions group(artifact, ranks);
    int moved = 0, movedFirst = 0;
    for (int step = 0; step < 50; ++step) {
      NamedTensors before = group.on(0).states();
      train(group, step, step + 1);
      NamedTensors after = group.on(0).states();
      moved += before["w"].floats != after["w"].floats;
      movedFirst += before["v"].floats != after["v"].floats;
    }
    EXPECT_EQ(moved, 25);
    EXPECT_GT(movedFirst, 5);
    EXPECT_LT(movedFirst, 20);
    group.expectReplicas();
  }
}

TEST(Ranks, EvaluateWithoutTheOthers) {
  auto artifact = artifactOf(onRanks(kDense, kCrossEntropy));
  RankSessions group(artifact, 2);
  for (int step = 0; step < 10; ++step) {
    train(group, step, step + 1);
    NamedTensors batch = batchOf(group.on(0), step, 1);
    batch["count"] = zeros(llvm::ArrayRef<int64_t>{}, /*isFloat=*/false);
    batch["count"].integers[0] = 3;
    EXPECT_GT(group.on(step % 2).run("evaluate", batch)["loss"].floats[0], 0);
  }
  EXPECT_EQ(group.replicated(0), trained(artifact, runtime::inProcess(2)));
}

TEST(Ranks, GoOnWithAnotherArtifact) {
  auto large = artifactOf(onRanks(kDense, kCrossEntropy)),
       small = artifactOf(onRanks(kDense, kCrossEntropy, kSmallBuckets));
  for (int ranks : ranksToTest()) {
    RankSessions first(large, ranks), second(small, ranks);
    train(first, 0, 5);
    hand(first, second);
    train(second, 5, 8);
    hand(second, first);
    train(first, 8, 10);
    EXPECT_EQ(first.replicated(0), trained(large, runtime::inProcess(ranks)));
  }
}

TEST(Ranks, GoOnFromCheckpointsInTheMiddleOfAnUpdate) {
  auto artifact = artifactOf(
      onRanks(kDense, kCrossEntropy + ", accumulation = 3 : i64, ema = true"));
  for (int ranks : ranksToTest()) {
    auto file = [](int rank) {
      return testing::TempDir() + "rank" + std::to_string(rank) + "." +
             std::to_string(getpid()) + ".safetensors";
    };
    RankSessions first(artifact, ranks), second(artifact, ranks);
    train(first, 0, 7);
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_TRUE(first.on(rank).session().saveCheckpoint(file(rank)).ok());
      ASSERT_TRUE(second.on(rank).session().loadCheckpoint(file(rank)).ok());
      unlink(file(rank).c_str());
    }
    train(second, 7, 12);
    EXPECT_EQ(second.replicated(0),
              trained(artifact, runtime::inProcess(ranks), 12));
  }
}

TEST(Ranks, LeaveOtherGroupsAlone) {
  auto artifact = artifactOf(onRanks(kDense, kCrossEntropy));
  RankSessions group(artifact, 2), other(artifact, 3);
  for (int step = 0; step < 10; ++step) {
    train(group, step, step + 1);
    train(other, 50 + step, 51 + step);
  }
  EXPECT_EQ(group.replicated(0), trained(artifact, runtime::inProcess(2)));
  EXPECT_NE(group.replicated(0), other.replicated(0));
}

//===-- values ------------------------------------------------------------===//

namespace {

/// Returns what a parameter of 10 is after a step by a gradient that is the
/// same on every rank.
double movedBy(double gradient, const std::string &distribution, int ranks) {
  RankSessions group(artifactOf(onRanks(R"(
gradus.program @one attributes {recipe = {RECIPE}} {
  gradus.state @p : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 10.0 : f64>}
  gradus.graph @train(%g: tensor<3xf32>) {
    gradus.update @p, %g : tensor<3xf32>
    gradus.return
  }
})",
                                        "seed = 1 : i64", distribution)),
                     ranks);
  HostTensor gradients = zeros(llvm::ArrayRef<int64_t>{3});
  gradients.floats.assign(3, gradient);
  group.run("train", {{"g", gradients}});
  group.expectReplicas();
  return group.on(ranks - 1).states().at("p").floats[2];
}

} // namespace

TEST(Ranks, MoveByTheMeanOfTheirGradients) {
  for (int ranks : {1, 2, 3, 5, 8}) {
    EXPECT_FLOAT_EQ(movedBy(1, "", ranks), 9.9) << ranks;
    EXPECT_FLOAT_EQ(movedBy(1, ", mean = false", ranks), 10 - 0.1 * ranks);
  }
}

/// The sum of 40000 and 40000 is no f16.
TEST(Ranks, AddIn16BitsWhatIsTooLargeTogether) {
  const std::string half = ", reduce = \"half\"";
  EXPECT_FLOAT_EQ(movedBy(40000, half, 2), 10 - 4000);
  for (int ranks : ranksToTest())
    EXPECT_NEAR(movedBy(40000, half, ranks), 10 - 4000, 4000 * 0x1p-10)
        << ranks;
}

/// A metric is of f32, whatever type the sums around it have.
TEST(Ranks, AddMetricsInF32BetweenGradientsOf16Bits) {
  const std::string recipe = kCrossEntropy + ", metrics = [\"accuracy\"]";
  for (int ranks : ranksToTest()) {
    RankSessions wide(artifactOf(onRanks(kDense, recipe)), ranks),
        narrow(artifactOf(onRanks(kDense, recipe, ", reduce = \"half\"")),
               ranks);
    NamedTensors batch = batchOf(wide.on(0), 0, ranks);
    auto expected = wide.run("train", batch),
         found = narrow.run("train", batch);
    for (int rank = 0; rank < ranks; ++rank)
      for (const char *name : {"loss", "accuracy"})
        EXPECT_EQ(found[rank][name].floats, expected[rank][name].floats);
    NamedTensors near = narrow.on(0).states(), exact = wide.on(0).states();
    EXPECT_NE(near["v"].floats, exact["v"].floats);
    expectNear({{"v", near["v"]}}, {{"v", exact["v"]}}, 0, 0x1p-10);
    train(narrow, 1, 10);
    narrow.expectReplicas();
  }
}

/// Elements, and samples as stochastic depth drops them.
TEST(Ranks, DropTheElementsThatOneProcessDrops) {
  const char *program = R"(
gradus.program @dropping attributes {recipe = {RECIPE}} {
  gradus.state @p : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<SAMPLESx103xf32>, %g: tensor<2xf32>) -> (y: tensor<SAMPLESx103xf32>, z: tensor<SAMPLESxf32>) {
    %one = arith.constant dense<1.0> : tensor<SAMPLESxf32>
    %y = gradus.dropout %x ratio 0.25 : tensor<SAMPLESx103xf32>
    %z = gradus.dropout %one ratio 0.5 : tensor<SAMPLESxf32>
    gradus.update @p, %g : tensor<2xf32>
    gradus.return %y, %z : tensor<SAMPLESx103xf32>, tensor<SAMPLESxf32>
  }
})";
  auto artifact = artifactOf(onRanks(program, "seed = 3 : i64"));
  for (int ranks : ranksToTest()) {
    RankSessions group(artifact, ranks);
    Compiled whole(filled(program, kSamples * ranks, "seed = 3 : i64"));
    for (int step = 0; step < 3; ++step) {
      NamedTensors batch = batchOf(whole, step, 1);
      NamedTensors expected = whole.run("train", batch), found;
      for (NamedTensors &part : group.run("train", batch))
        for (const char *name : {"y", "z"})
          llvm::append_range(found[name].floats, part[name].floats);
      for (const char *name : {"y", "z"})
        EXPECT_EQ(found[name].floats, expected[name].floats) << name;
    }
  }
}

//===-- commands ----------------------------------------------------------===//

namespace {

/// Counts what is begun and finished; one rank alone.
struct Counting final : runtime::Collectives {
  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  uint64_t begin(const runtime::Collective &collective) override {
    elements += collective.count;
    finished.push_back(0);
    return finished.size() - 1;
  }
  runtime::Status finish(uint64_t number) override {
    ++finished.at(number);
    return {};
  }
  runtime::Status fail(const runtime::Status &status) override {
    return status;
  }
  void keep(std::shared_ptr<const void>) override {}

  uint64_t elements = 0;
  std::vector<int> finished; // how often, by number
};

} // namespace

TEST(Ranks, FinishEachSumOnceInEachStep) {
  for (const char *bytes : {"1", "1024", "16777216"}) {
    auto counting = std::make_shared<Counting>();
    runtime::SessionOptions options;
    options.collectives = counting;
    Compiled compiled(
        onRanks(kDense, kCrossEntropy,
                std::string(", bucket_bytes = ") + bytes + " : i64"),
        options);
    for (int step = 1; step <= 3; ++step) {
      counting->elements = 0;
      compiled.run("train", batchOf(compiled, step, 1));
      EXPECT_GE(counting->elements, 16u * 12 + 16 + 10 * 16 + 10);
      EXPECT_EQ(counting->finished,
                std::vector<int>(counting->finished.size(), 1));
    }
  }
}

/// Times are those of all steps that were timed, waiting included.
TEST(Ranks, TellTheTimeThatTheyWait) {
  constexpr int kSteps = 3;
  constexpr std::chrono::milliseconds kLatency{5};
  RankSessions group(artifactOf(onRanks(kDense, kCrossEntropy)),
                     runtime::inProcess(2, {0, kLatency}));
  runtime::Session &session = group.on(0).session();
  int graph = session.findGraph("train");
  std::vector<int64_t> times(session.graphs()[graph].commands.size());
  train(group, 0, 1);
  session.timeCommands(graph, times);
  train(group, 1, 1 + kSteps);
  session.timeCommands(graph, {});
  train(group, 1 + kSteps, 2 + kSteps);
  std::chrono::nanoseconds all(
      std::accumulate(times.begin(), times.end(), int64_t{0}));
  EXPECT_GE(all, kSteps * kLatency);
  auto first = group.thread(0).timesOf(0);
  EXPECT_GE(first.ended - first.started, kLatency);
}

//===-- failures ----------------------------------------------------------===//

TEST(Ranks, FailTogetherInTheMiddleOfTraining) {
  auto artifact = artifactOf(onRanks(kDense, kCrossEntropy));
  RankSessions group(artifact, 3);
  train(group, 0, 3);
  group.onEach([&](int rank) {
    runtime::Session &session = group.on(rank).session();
    runtime::Status status;
    if (rank == 1)
      status = group.thread(rank).fail(runtime::invalid("cat.png: no image"));
    else
      status = session.step(session.findGraph("train"));
    runtime::Status later = session.step(session.findGraph("train")),
                    end = group.thread(rank).end();
    for (const runtime::Status &each : {status, later, end}) {
      EXPECT_EQ(each.code(), runtime::StatusCode::invalid);
      EXPECT_NE(each.message().find("rank 1 (this process): cat.png: no image"),
                std::string::npos)
          << each;
    }
  });
}

/// One rank's model has a parameter more: a launcher compares artifacts before
/// the first step, and what does not is told by the first sum that differs.
TEST(Ranks, FailWhereOneHasAnotherModel) {
  std::string text = onRanks(kDense, kCrossEntropy), more = text;
  const std::string end = "    gradus.return %7";
  more.replace(more.find(end), end.size(), R"(
    %s = gradus.read @s : tensor<10xf32>
    %8 = gradus.broadcast %s dims [1] : tensor<10xf32> -> tensor<4x10xf32>
    %9 = arith.mulf %7, %8 : tensor<4x10xf32>
    gradus.return %9)");
  const std::string state = "  gradus.graph";
  more.insert(more.find(state),
              "  gradus.state @s : tensor<10xf32> {role = "
              "#gradus.role<parameter>, init = #gradus.init<constant, 1.0 : "
              "f64>}\n");
  auto openers = runtime::inProcess(2);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      std::shared_ptr<CommunicationThread> thread =
          *CommunicationThread::start(openers[rank], runtime::patient());
      runtime::SessionOptions options;
      options.collectives = thread;
      Compiled compiled(rank ? more : text, options);
      runtime::Session &session = compiled.session();
      runtime::Status status;
      for (int step = 0; step < 100 && status.ok(); ++step)
        status = session.step(session.findGraph("train"));
      EXPECT_NE(status.message().find("bytes, and rank"), std::string::npos)
          << status;
      EXPECT_FALSE(thread->end().ok());
    });
  for (std::thread &rank : ranks)
    rank.join();
}
