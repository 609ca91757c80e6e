#include "runtime/session/session.h"

#include "tests/runtime/allocations.h"
#include "tests/runtime/fake_device.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

using namespace gradus::runtime;
using namespace gradus::test;

using Floats = std::array<float, kSize>;

static std::unique_ptr<Session> start(const TestArtifact &made,
                                      std::shared_ptr<Device> device,
                                      SessionOptions options) {
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.status().message();
  auto session =
      Session::create(*artifact, std::move(device), std::move(options));
  EXPECT_TRUE(session.ok()) << session.status().message();
  return *std::move(session);
}

/// Tests that hold on every device.
struct Sessions : testing::TestWithParam<const char *> {
  static std::unique_ptr<Session> start(const TestArtifact &made,
                                        SessionOptions options = {}) {
    return ::start(made, deviceOf(GetParam()), std::move(options));
  }
};

INSTANTIATE_TEST_SUITE_P(Each, Sessions, testing::Values("cpu", "fake"),
                         [](const auto &info) { return info.param; });

static const Floats kOnes = {1, 1, 1, 1, 1, 1, 1, 1};

TEST_P(Sessions, RunsAStepOverItsState) {
  auto session = start(TestArtifact());
  Floats sum{}, shifted{};
  const void *inputs[] = {kOnes.data()};
  void *outputs[] = {sum.data(), shifted.data()};
  ASSERT_TRUE(session->step(0, inputs, outputs).ok());
  EXPECT_EQ(sum, (Floats{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(shifted, (Floats{11, 13, 15, 17, 19, 21, 23, 25}));
  EXPECT_EQ(*session->stepCount(), 1);
  Floats total{};
  ASSERT_TRUE(session->readState("total", total.data(), sizeof(total)).ok());
  EXPECT_EQ(total, sum);
}

/// One process evaluates and predicts with what three ranks train.
TEST_P(Sessions, TrainsOnTheRanksThatItIsForAlone) {
  TestArtifact made;
  made.header.ranks = 3;
  auto session = start(made);
  EXPECT_TRUE(session->step(session->findGraph("evaluate")).ok());
  int train = session->findGraph("train");
  EXPECT_EQ(session->step(train).message(),
            "adder: is for 3 ranks (distribution.ranks), and runs on 1; run it "
            "on 3, or compile another with --set distribution.ranks=1");
  EXPECT_EQ(*session->stepCount(), 0);
  EXPECT_TRUE(start(made, {.onAnyRanks = true})->step(train).ok());
}

TEST_P(Sessions, GivesTheSameBitsForAnyNumberOfThreads) {
  for (int threads : {1, 2, 3, 8}) {
    auto session = start(TestArtifact(), {.threads = threads});
    EXPECT_EQ(session->threads(), threads);
    Floats sum{};
    const void *inputs[] = {kOnes.data()};
    void *outputs[] = {sum.data(), nullptr};
    for (int i = 0; i < 100; ++i)
      ASSERT_TRUE(session->step(0, inputs, outputs).ok());
    EXPECT_EQ(sum, (Floats{100, 101, 102, 103, 104, 105, 106, 107}));
  }
}

TEST_P(Sessions, StartsNoThreadsForASerialPlan) {
  TestArtifact made;
  made.command(0).kind.AsKernelCommand()->grain = kSize;
  made.train().commands.erase(made.train().commands.begin() + 2);
  EXPECT_EQ(start(made, {.threads = 4})->threads(), 1);
}

TEST_P(Sessions, RunsAQueueOfBatches) {
  auto session = start(TestArtifact());
  Floats twos, first{}, second{};
  twos.fill(2);
  const void *inputs[] = {kOnes.data(), twos.data()};
  void *outputs[] = {first.data(), nullptr, second.data(), nullptr};
  int64_t done = 0;
  ASSERT_TRUE(session->steps(0, 2, inputs, outputs, &done).ok());
  EXPECT_EQ(done, 2);
  EXPECT_EQ(first[0], 1);
  EXPECT_EQ(second[0], 3);
}

TEST_P(Sessions, TakesInputsWrittenInPlace) {
  auto session = start(TestArtifact());
  static_cast<float *>(session->inputBuffer(0, 0))[7] = 0.5f;
  ASSERT_TRUE(session->step(0).ok());
  EXPECT_EQ(static_cast<const float *>(session->outputBuffer(0, 0))[7], 7.5f);
}

TEST_P(Sessions, StopsBetweenStepsWhenCancelled) {
  auto session = start(TestArtifact());
  session->cancel();
  int64_t done = 7;
  Status status = session->steps(0, 5, {}, {}, &done);
  EXPECT_EQ(status.code(), StatusCode::cancelled);
  EXPECT_EQ(done, 0);
  EXPECT_TRUE(session->step(0).ok()) << "cancelling holds once";
}

TEST_P(Sessions, CanBeCancelledFromAnotherThread) {
  auto session = start(TestArtifact());
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    session->cancel();
  });
  int64_t done = 0;
  Status status = session->steps(0, int64_t{1} << 60, {}, {}, &done);
  other.join();
  EXPECT_EQ(status.code(), StatusCode::cancelled);
  EXPECT_EQ(*session->stepCount(), done);
}

TEST_P(Sessions, SaysWhatIsInside) {
  auto session = start(TestArtifact());
  EXPECT_EQ(session->findGraph("evaluate"), 1);
  EXPECT_EQ(session->findGraph("predict"), -1);
  const GraphInfo &train = session->graphs()[0];
  EXPECT_EQ(train.inputs[0].name, "x");
  EXPECT_EQ(train.inputs[0].bytes, 32u);
  EXPECT_EQ(toString(train.outputs[1].type), "8xf32");
  EXPECT_EQ(train.commands[0].name, "total += x");
  EXPECT_EQ(train.commands[0].kind, "kernel");
  EXPECT_EQ(train.commands[1].kind, "copy");
  EXPECT_EQ(train.commands[0].nodes,
            (std::vector<std::string>{"/add", "/more"}));
  MemoryInfo memory = session->memory();
  EXPECT_EQ(memory.predicted(), 192u + 256u + 32u + 45u);
  EXPECT_EQ(memory.bound, 192u);
}

TEST_P(Sessions, TimesTheHostsPart) {
  auto session = start(TestArtifact());
  std::vector<float> ones(kSize, 1);
  ASSERT_TRUE(session->step(0, std::vector<const void *>{ones.data()}).ok());
  auto took = session->hostTime(0);
  ASSERT_TRUE(took.ok()) << took.status();
  EXPECT_GT(*took, 0);
  EXPECT_EQ(*session->stepCount(), 2);
  EXPECT_NE(session->runsOn().find("threads"), std::string::npos);
  EXPECT_EQ(session->hostTime(7).status().message(),
            session->artifact().path() +
                ": graph 7 does not exist; there are 2");
}

TEST_P(Sessions, TimesEachCommand) {
  auto session = start(TestArtifact());
  std::vector<int64_t> times(4);
  session->timeCommands(0, times);
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(session->step(0).ok());
  for (int64_t time : times)
    EXPECT_GT(time, 0);
  session->timeCommands(0, {});
  auto before = times;
  ASSERT_TRUE(session->step(0).ok());
  EXPECT_EQ(times, before);
}

TEST_P(Sessions, ResetsItsState) {
  auto session = start(TestArtifact());
  const void *inputs[] = {kOnes.data()};
  ASSERT_TRUE(session->step(0, inputs).ok());
  ASSERT_TRUE(session->resetStates().ok());
  Floats total{};
  ASSERT_TRUE(session->readState("total", total.data(), sizeof(total)).ok());
  EXPECT_EQ(total, (Floats{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(*session->stepCount(), 0);
}

TEST_P(Sessions, PicksTheVariantOfTheStep) {
  TestArtifact made;
  // `train` runs on steps 1, 4, 7, ...; otherwise one that only counts, also
  // where none fits.
  gradus::artifact::GraphT other;
  gradus::artifact::PortT port;
  other.name = "other";
  for (auto &input : made.header.graphs[0]->inputs)
    other.inputs.push_back(std::make_unique<gradus::artifact::PortT>(*input));
  for (auto &output : made.header.graphs[0]->outputs)
    other.outputs.push_back(std::make_unique<gradus::artifact::PortT>(*output));
  made.header.graphs.push_back(
      std::make_unique<gradus::artifact::GraphT>(other));
  auto plan = std::make_unique<gradus::artifact::GraphPlanT>(made.train());
  plan->graph = 2;
  plan->commands.erase(plan->commands.begin(), plan->commands.begin() + 3);
  plan->outputs[0] = made.addArena(kSize);
  made.plan().graphs.push_back(std::move(plan));
  gradus::artifact::ScheduleT schedule;
  schedule.graph = "train";
  schedule.every = {3, 4};
  schedule.at = {1, 2};
  schedule.counter = "step";
  schedule.variants = {0, 2};
  made.header.schedules.push_back(
      std::make_unique<gradus::artifact::ScheduleT>(schedule));
  auto session = start(made);
  const void *inputs[] = {kOnes.data()};
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(session->step(0, inputs).ok());
    EXPECT_EQ(session->outputBuffer(0, 0) == session->outputBuffer(2, 0),
              i % 3 != 1)
        << "not where step " << i << " left it";
  }
  EXPECT_EQ(*session->stepCount(), 7);
  float total;
  std::memcpy(&total, (*session->stateBytes(0)).data(), sizeof(total));
  EXPECT_EQ(total, 2) << "steps 1 and 4";
}

/// An artifact whose step of one process is two turns.
static TestArtifact inTurns() {
  TestArtifact made;
  made.addTurns();
  return made;
}

static int64_t numberOf(const Session &session, const char *state) {
  int64_t number = -1;
  EXPECT_TRUE(session.readState(state, &number, sizeof(number)).ok());
  return number;
}

TEST_P(Sessions, RunTheTurnsOfAStep) {
  auto session = start(inTurns());
  EXPECT_EQ(session->logicalRanks(), 2);
  EXPECT_EQ(session->turns(), 2);
  EXPECT_EQ(start(TestArtifact())->turns(), 1);
  Floats twos, sum{};
  twos.fill(2);
  const void *inputs[] = {kOnes.data(), twos.data()};
  void *outputs[] = {nullptr, nullptr, sum.data(), nullptr};
  for (float step : {1, 2}) {
    EXPECT_EQ(numberOf(*session, "distribution.turn"), 1);
    EXPECT_EQ(numberOf(*session, "distribution.rank"), 0);
    ASSERT_TRUE(session->step(0, {inputs, 1}, {outputs, 2}).ok());
    EXPECT_EQ(session->lastVariant(0), 2);
    EXPECT_EQ(numberOf(*session, "distribution.turn"), 2);
    EXPECT_EQ(numberOf(*session, "distribution.rank"), 1);
    EXPECT_EQ(numberOf(*session, "step"), step - 1);
    ASSERT_TRUE(session->step(0, {inputs + 1, 1}, {outputs + 2, 2}).ok());
    EXPECT_EQ(session->lastVariant(0), 3);
    EXPECT_EQ(sum[0], 3 * step);
    EXPECT_EQ(numberOf(*session, "step"), step);
  }
}

TEST_P(Sessions, AreCancelledBetweenStepsOfSeveralTurns) {
  auto session = start(inTurns());
  ASSERT_TRUE(session->step(0).ok());
  session->cancel();
  int64_t done = 0;
  Status status = session->steps(0, 5, {}, {}, &done);
  EXPECT_EQ(status.code(), StatusCode::cancelled);
  EXPECT_EQ(done, 1) << "the turn that ends the step";
  EXPECT_EQ(numberOf(*session, "distribution.turn"), 1);
  EXPECT_EQ(*session->stepCount(), 1);
}

TEST_P(Sessions, SaveNothingOfAStepThatHasNotEnded) {
  auto session = start(inTurns());
  const void *inputs[] = {kOnes.data()};
  std::string path = temporaryPath("turns.safetensors");
  ASSERT_TRUE(session->step(0, inputs).ok());
  ASSERT_TRUE(session->saveCheckpoint(path).ok());
  ASSERT_TRUE(session->step(0, inputs).ok());
  ASSERT_TRUE(session->step(0, inputs).ok());
  ASSERT_TRUE(session->loadCheckpoint(path).ok());
  EXPECT_EQ(numberOf(*session, "distribution.turn"), 1) << "a step begins";
  EXPECT_EQ(numberOf(*session, "step"), 0);
  ASSERT_TRUE(session->step(0, inputs).ok());
  ASSERT_TRUE(session->resetStates().ok());
  EXPECT_EQ(numberOf(*session, "distribution.turn"), 1);
}

TEST_P(Sessions, CountStepsAndNotTurnsWithoutACounter) {
  TestArtifact made = inTurns();
  made.header.states[2]->name = "other";
  auto session = start(made);
  for (int64_t call = 1; call <= 4; ++call) {
    ASSERT_TRUE(session->step(0).ok());
    EXPECT_EQ(*session->stepCount(), call / 2);
  }
}

TEST_P(Sessions, TimeTheCommandsOfAVariant) {
  auto session = start(inTurns());
  std::vector<int64_t> train(session->graphs()[0].commands.size()),
      last(session->graphs()[3].commands.size());
  session->timeCommands(0, train);
  session->timeCommands(3, last);
  ASSERT_TRUE(session->step(0).ok());
  EXPECT_EQ(last[0], 0);
  ASSERT_TRUE(session->step(0).ok());
  EXPECT_GT(last[0], 0);
  EXPECT_EQ(train[0], 0) << "it did not run";
}

TEST_P(Sessions, RefusesWrongCalls) {
  auto session = start(TestArtifact());
  EXPECT_EQ(session->step(9).message(),
            "adder: graph 9 does not exist; there are 2");
  const void *inputs[] = {nullptr, nullptr};
  EXPECT_EQ(session->step(0, inputs).message(),
            "adder: graph train: 2 inputs were given for 1 steps of 1");
  float one = 0;
  EXPECT_EQ(session->readState("totl", &one, 4).message(),
            "adder: there is no state totl");
  EXPECT_EQ(session->writeState("total", &one, 4).message(),
            "adder: state total has 32 bytes, and 4 were given");
}

TEST(Session, RefusesOptionsItCannotMeet) {
  auto artifact = Artifact::fromBytes(TestArtifact().bytes(), "adder");
  EXPECT_EQ(Session::create(*artifact, {.device = "tpu"}).status().message(),
            "adder: device tpu is not one of: cpu, cuda, cuda:NUMBER, "
            "emulated");
  EXPECT_FALSE(Session::create(*artifact, {.threads = -1}).ok());
}

TEST_P(Sessions, WriteAndShowStates) {
  auto session = start(TestArtifact());
  std::span ones(reinterpret_cast<const uint8_t *>(kOnes.data()), 32);
  auto before = *session->stateBytes(0);
  EXPECT_EQ(before.size(), 32u);
  ASSERT_TRUE(session->writeState(0, ones).ok());
  EXPECT_TRUE(std::ranges::equal(*session->stateBytes(0), ones));
  EXPECT_EQ(session->writeState(0, ones.first(4)).message(),
            "adder: state total has 32 bytes, and 4 were given");
  const void *inputs[] = {kOnes.data()};
  ASSERT_TRUE(session->step(0, inputs).ok());
  float total;
  std::memcpy(&total, (*session->stateBytes(0)).data(), sizeof(total));
  EXPECT_EQ(total, 2);
}

TEST_P(Sessions, ShowBuffersToProbes) {
  auto session = start(TestArtifact());
  std::vector<float> sums;
  session->setProbe([&](size_t graph, size_t command) {
    EXPECT_EQ(graph, 0u);
    EXPECT_EQ(command, sums.size());
    auto bytes = session->bufferBytes(kTotal);
    ASSERT_TRUE(bytes.ok());
    std::memcpy(&sums.emplace_back(), (*bytes).data(), sizeof(float));
  });
  const void *inputs[] = {kOnes.data()};
  Floats sum{};
  void *outputs[] = {sum.data(), nullptr};
  ASSERT_TRUE(session->step(0, inputs, outputs).ok());
  EXPECT_EQ(sums, (std::vector<float>{0, 1, 1, 1, 1}));
  EXPECT_EQ(sum[1], 2);
  session->setProbe({});
  ASSERT_TRUE(session->step(0, inputs).ok());
  EXPECT_EQ(sums.size(), 5u);
}

TEST(Session, SaysThatItsDeviceHasFailed) {
  auto device = std::make_shared<FakeDevice>();
  auto session = start(TestArtifact(), device, {});
  const void *inputs[] = {kOnes.data()};
  std::string path = temporaryPath("before.safetensors");
  ASSERT_TRUE(session->step(0, inputs).ok());
  ASSERT_TRUE(session->saveCheckpoint(path).ok());
  device->lost = true;
  EXPECT_EQ(session->step(0, inputs).message(), "adder: the card is lost");
  EXPECT_EQ(session->saveCheckpoint(path).message(), "adder: the card is lost");
  EXPECT_EQ(session->stateBytes(0).status().message(),
            "adder: the card is lost");
  EXPECT_FALSE(session->resetStates().ok());
  auto other = start(TestArtifact(), deviceOf("cpu"), {});
  ASSERT_TRUE(other->loadCheckpoint(path).ok()) << "it is whole";
  EXPECT_EQ(*other->stepCount(), 1);
}

TEST(Session, KeepsItsCountOfStepsWhereItCannotBeReset) {
  TestArtifact made;
  for (auto &state : made.header.states)
    if (state->name == "step") // Who has no such state counts himself.
      state->name = "another";
  auto device = std::make_shared<FakeDevice>();
  auto session = start(made, device, {});
  const void *inputs[] = {kOnes.data()};
  ASSERT_TRUE(session->step(0, inputs).ok());
  device->lost = true;
  EXPECT_FALSE(session->resetStates().ok());
  device->lost = false;
  EXPECT_EQ(*session->stepCount(), 1);
  EXPECT_TRUE(session->resetStates().ok());
  EXPECT_EQ(*session->stepCount(), 0);
}

/// What waits in the device's queue when it fails has not run to its end.
TEST(Session, CountsNoStepsThatItsDeviceLost) {
  std::vector<const void *> inputs(10, kOnes.data());
  for (bool takes : {false, true}) {
    auto device = std::make_shared<FakeDevice>();
    device->lostAfter = 3;
    auto session = start(TestArtifact(), device, {});
    std::vector<void *> outputs(takes ? 2 * 10 : 0); // taken, and not kept
    int64_t done = -1;
    EXPECT_EQ(session->steps(0, 10, inputs, outputs, &done).message(),
              "adder: the card is lost");
    EXPECT_EQ(done, takes ? 3 : 0);
  }
}

TEST_P(Sessions, KeepsTheCallersFloatingPointMode) {
  auto session = start(TestArtifact());
  ASSERT_TRUE(session->step(0).ok());
  volatile float tiny = 1e-40f;
  EXPECT_NE(tiny * 0.5f, 0.0f);
}

//===-- no allocation after load ------------------------------------------===//

TEST_P(Sessions, AllocatesNothingInAThousandSteps) {
  auto session = start(TestArtifact(), {.threads = 2});
  Floats sum{}, shifted{};
  const void *inputs[] = {kOnes.data()};
  void *outputs[] = {sum.data(), shifted.data()};
  // Sanitizers allocate in a thread that starts; let the workers be up.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  int64_t before = allocations();
  bool ok = true;
  for (int i = 0; i < 1000; ++i)
    ok &= session->step(0, inputs, outputs).ok();
  EXPECT_EQ(allocations() - before, 0);
  EXPECT_TRUE(ok);
}
