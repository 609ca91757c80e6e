// A whole plan on the emulated card: steps, states, times, and what goes wrong.

#include "runtime/cuda/cuda_plan.h"

#include "adder_on_card.h"
#include "test_library.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using namespace gradus::test;
using gradus::artifact::Region;

namespace {

struct CudaPlanTest : AdderOnCard {
  void TearDown() override {
    plan_.reset();
    AdderOnCard::TearDown();
  }
  Status load(const FakeOptions &options = {}, Order order = Order::chain) {
    plan_.reset();
    open(options);
    return load(loadCode(), order);
  }
  PlanCode loadCode() {
    PlanCode code;
    code.kernels = loadKernels(code.module);
    return code;
  }
  Status load(PlanCode code, Order order,
              size_t pinnedAtLoad = CudaPlan::kPinnedAtLoad) {
    library_.emplace(driver());
    library_->needs = libraryNeeds_;
    library_->warms = libraryWarms_;
    auto loaded = CudaPlan::load(*card_, *artifact_, plan(), std::move(code),
                                 &*library_, order, pinnedAtLoad);
    GRADUS_TRY(loaded.status());
    plan_ = *std::move(loaded);
    return Status();
  }
  static std::vector<float> numbersIn(const HostPort &port) {
    auto *numbers = reinterpret_cast<const float *>(port.data);
    return {numbers, numbers + port.bytes / sizeof(float)};
  }
  /// total += x, with x all of one number.
  void setInput(float number) {
    HostPort port = plan_->inputs(0)[0];
    ASSERT_EQ(port.bytes, kSize * sizeof(float));
    std::fill_n(reinterpret_cast<float *>(port.data), kSize, number);
  }
  std::vector<float> total() {
    std::vector<float> total(kSize);
    Status status = plan_->read(
        Region::state, 0,
        {reinterpret_cast<uint8_t *>(total.data()), kSize * sizeof(float)});
    EXPECT_TRUE(status.ok()) << status;
    return total;
  }
  int64_t counter() {
    int64_t counter = -1;
    Status status = plan_->read(Region::state, 128,
                                {reinterpret_cast<uint8_t *>(&counter), 8});
    EXPECT_TRUE(status.ok()) << status;
    return counter;
  }
  static std::vector<float> all(float number) {
    return std::vector<float>(kSize, number);
  }
  static std::vector<float> from(float first) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < kSize; ++i)
      numbers.push_back(first + float(i));
    return numbers;
  }

  /// sum = -total, by the library, and negated = -sum.
  void addLibraryCommands() {
    uint32_t scratch = adder_.addArena(64);
    adder_.add("negate", callOn(kTotal, kSum, scratch));
    adder_.add("negate again", callOn(kSum, kShifted, scratch));
    read();
  }

  std::optional<TestLibrary> library_;
  uint64_t libraryNeeds_ = 0;
  bool libraryWarms_ = false;
  std::unique_ptr<CudaPlan> plan_;
};

} // namespace

/// Its code is unloaded on its own card: close() finds no fault.
TEST_F(CudaPlanTest, LeavesItsCardWhereLoadingFailed) {
  struct Wanderer : LibraryServer {
    explicit Wanderer(const Driver &driver) : driver(driver) {}
    StatusOr<std::unique_ptr<LibraryCall>>
    prepare(const gradus::artifact::LibraryCommand &, uint64_t) override {
      driver.contextSetCurrent(nullptr);
      return failed("another card is current now");
    }
    const Driver &driver;
  };
  addLibraryCommands();
  open();
  PlanCode code;
  code.kernels = loadKernels(code.module);
  Wanderer library(driver());
  auto loaded =
      CudaPlan::load(*card_, *artifact_, plan(), std::move(code), &library);
  EXPECT_TRUE(has(loaded.status().message(), "another card is current now"));
}

/// As if its outputs were large.
TEST_F(CudaPlanTest, PinsLargeOutputsWhenTheirGraphFirstRuns) {
  open();
  Status status = load(loadCode(), Order::chain, /*pinnedAtLoad=*/0);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(plan_->outputs(0)[0].data, nullptr);
  for (float step : {1.f, 2.f}) {
    setInput(1);
    status = plan_->run(0);
    ASSERT_TRUE(status.ok()) << status;
    status = plan_->wait();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(numbersIn(plan_->outputs(0)[0]), all(step));
  }
  setInput(1);
  std::vector<int64_t> nanoseconds(plan().graphs()->Get(0)->commands()->size());
  status = plan_->runTimed(0, nanoseconds);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(numbersIn(plan_->outputs(0)[0]), all(3));
  setInput(1);
  status = plan_->runStepwise(0, [](size_t) { return Status(); });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(numbersIn(plan_->outputs(0)[0]), all(4));
  EXPECT_EQ(plan_->outputs(1)[0].data, nullptr) << "evaluate has not run";
}

/// The input and the record that it is taken, four commands, two outputs; of a
/// library call what it has recorded.
TEST_F(CudaPlanTest, CountsLaunches) {
  open();
  ASSERT_TRUE(load(loadCode(), Order::chain).ok());
  EXPECT_EQ(plan_->launches(0), 8u);
  EXPECT_EQ(plan_->launches(1), 3u); // the record, a command, an output
  plan_.reset();
  addLibraryCommands();
  open();
  ASSERT_TRUE(load(loadCode(), Order::chain, /*pinnedAtLoad=*/0).ok());
  EXPECT_EQ(plan_->launches(0), 8u) << "outputs that are late, not yet";
  setInput(1);
  ASSERT_TRUE(plan_->run(0).ok());
  EXPECT_EQ(plan_->launches(0), 10u);
  ASSERT_TRUE(plan_->wait().ok());
}

TEST_F(CudaPlanTest, RunsStepsInAllOrders) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    FakeOptions options;
    options.seed = seed;
    Status status = load(options, seed % 2 ? Order::chain : Order::bytes);
    ASSERT_TRUE(status.ok()) << status;
    for (float step : {1.f, 2.f, 3.f}) {
      setInput(step);
      status = plan_->run(0);
      ASSERT_TRUE(status.ok()) << status;
    }
    status = plan_->wait();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(numbersIn(plan_->outputs(0)[0]), all(6));
    EXPECT_EQ(numbersIn(plan_->outputs(0)[1]), from(16)); // + 10, 11, ...
    EXPECT_EQ(total(), all(6));
    EXPECT_EQ(counter(), 3);
    ASSERT_TRUE(plan_->run(1).ok()); // evaluate
    ASSERT_TRUE(plan_->wait().ok());
    EXPECT_EQ(numbersIn(plan_->outputs(1)[0]), all(6));
  }
}

/// The host is back before a step is done: the next inputs are on their way.
TEST_F(CudaPlanTest, DoesNotWaitForSteps) {
  ASSERT_TRUE(load().ok());
  setInput(1);
  ASSERT_TRUE(plan_->run(0).ok());
  size_t before = fake_->log().size();
  setInput(2);
  ASSERT_TRUE(plan_->run(0).ok());
  EXPECT_EQ(fake_->log().size(), before);
  EXPECT_EQ(total(), all(3));
}

TEST_F(CudaPlanTest, StartsWithZeroesAndKeepsWhatIsWritten) {
  ASSERT_TRUE(load().ok());
  EXPECT_EQ(plan_->name(), "the emulated GPU");
  EXPECT_EQ(total(), all(0));
  std::vector<float> numbers = from(1);
  ASSERT_TRUE(plan_
                  ->write(Region::state, 0,
                          {reinterpret_cast<uint8_t *>(numbers.data()),
                           kSize * sizeof(float)})
                  .ok());
  EXPECT_EQ(total(), numbers);
  EXPECT_EQ(plan_->memory(Region::state), nullptr);
  EXPECT_EQ(plan_->extraBytes(), 256u + 120 + 256); // scratch, tables, inputs
}

TEST_F(CudaPlanTest, RunsCommandByCommand) {
  ASSERT_TRUE(load().ok());
  setInput(5);
  std::vector<size_t> looked;
  std::vector<std::vector<float>> totals;
  Status status = plan_->runStepwise(0, [&](size_t command) {
    looked.push_back(command);
    totals.push_back(total());
    return Status();
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(looked, (std::vector<size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(totals[0], all(0));
  EXPECT_EQ(totals[1], all(5));
  EXPECT_EQ(numbersIn(plan_->outputs(0)[1]), from(15));
  EXPECT_EQ(plan_
                ->runStepwise(0,
                              [](size_t command) {
                                return command == 2 ? invalid("enough")
                                                    : Status();
                              })
                .message(),
            "enough");
  EXPECT_EQ(counter(), 1);
}

TEST_F(CudaPlanTest, TakesTheTimeOfEachCommand) {
  ASSERT_TRUE(load().ok());
  setInput(1);
  std::vector<int64_t> nanoseconds(4, 0);
  Status status = plan_->runTimed(0, nanoseconds);
  ASSERT_TRUE(status.ok()) << status;
  for (int64_t each : nanoseconds)
    EXPECT_GT(each, 0);
  EXPECT_EQ(total(), all(1));
  std::vector<int64_t> before = nanoseconds;
  setInput(2);
  status = plan_->runTimed(0, nanoseconds);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(total(), all(3));
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_GT(nanoseconds[i], before[i]);
}

TEST_F(CudaPlanTest, FindsTooLittleMemoryBeforeItTakesAny) {
  FakeOptions options;
  options.memoryBytes = 600;
  EXPECT_EQ(load(options).message(),
            "needs 1.1 KiB of the GPU's memory (192 bytes of state, 256 bytes "
            "of arena, 32 bytes of constants, 256 bytes of scratch, 120 bytes "
            "of tables, 256 bytes of inputs), and 600 bytes of 600 bytes are "
            "free on the emulated GPU");
}

//===-- library commands --------------------------------------------------===//

TEST_F(CudaPlanTest, RunsLibraryCommandsInAllOrders) {
  addLibraryCommands();
  for (unsigned seed = 0; seed < 20; ++seed) {
    libraryNeeds_ = seed % 3 * 200; // the plan's scratch, or one of its own
    FakeOptions options;
    options.seed = seed;
    Status status = load(options, seed % 2 ? Order::chain : Order::bytes);
    ASSERT_TRUE(status.ok()) << status;
    for (float step : {1.f, 2.f}) {
      setInput(step);
      status = plan_->run(0);
      ASSERT_TRUE(status.ok()) << status;
    }
    status = plan_->wait();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(numbersIn(plan_->outputs(0)[0]), all(-3));
    EXPECT_EQ(numbersIn(plan_->outputs(0)[1]), all(3));
    EXPECT_EQ(library_->offered, (std::vector<uint64_t>{256})); // both
    EXPECT_EQ(library_->ran, 4);
    EXPECT_EQ(plan_->extraBytes(),
              256u + 120 + 256 + (libraryNeeds_ > 256 ? libraryNeeds_ : 0));
  }
}

TEST_F(CudaPlanTest, RunsLibraryCommandsOneByOne) {
  addLibraryCommands();
  ASSERT_TRUE(load().ok());
  setInput(5);
  std::vector<size_t> looked;
  Status status = plan_->runStepwise(0, [&](size_t command) {
    looked.push_back(command);
    EXPECT_EQ(library_->ran, command < 5 ? 0 : int(command) - 4);
    return Status();
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(looked, (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(numbersIn(plan_->outputs(0)[0]), all(-5));
  setInput(1);
  std::vector<int64_t> nanoseconds(6, 0);
  status = plan_->runTimed(0, nanoseconds);
  ASSERT_TRUE(status.ok()) << status;
  for (int64_t each : nanoseconds)
    EXPECT_GT(each, 0);
  EXPECT_EQ(numbersIn(plan_->outputs(0)[1]), all(6));
}

/// What the first run of a call writes is gone before the first step.
TEST_F(CudaPlanTest, WarmsLibrariesUp) {
  adder_.add("negate", callOn(kX, kTotal, UINT32_MAX));
  read();
  libraryWarms_ = true;
  Status status = load();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(library_->ran, 1);
  EXPECT_EQ(total(), all(0));
}

TEST_F(CudaPlanTest, CountsTheScratchOfLibraries) {
  addLibraryCommands();
  libraryNeeds_ = 1000;
  FakeOptions options;
  options.memoryBytes = 600;
  EXPECT_TRUE(has(load(options).message(),
                  "120 bytes of tables, 1000 bytes of library scratch, 256 "
                  "bytes of inputs"));
  options = {};
  options.outOfMemoryAt = 5;
  EXPECT_TRUE(has(load(options).message(), "for library scratch"));
}

TEST_F(CudaPlanTest, SaysWhichLibraryCommandNobodyServes) {
  addLibraryCommands();
  PlanCode code;
  code.kernels = loadKernels(code.module);
  EXPECT_EQ(CudaPlan::load(*card_, *artifact_, plan(), std::move(code), nullptr)
                .status()
                .message(),
            "command 4 (negate): this Gradus runs no library commands on a "
            "GPU");
}

/// Wherever it fails, all is given back (TearDown looks).
TEST_F(CudaPlanTest, SaysWhichMemoryItDidNotGet) {
  for (auto [at, what] :
       {std::pair(0, "for state"), {2, "for constants"}, {5, "for inputs"}}) {
    FakeOptions options;
    options.outOfMemoryAt = at;
    Status status = load(options);
    EXPECT_TRUE(has(status.message(), what)) << status;
    EXPECT_TRUE(has(status.message(), "too little free memory")) << status;
  }
}

/// Each call to the driver, one after the other. What was begun before is no
/// longer under way when its memory goes, and nothing stays behind (open()).
TEST_F(CudaPlanTest, SaysWhateverTheDriverFailsAt) {
  addLibraryCommands();
  libraryWarms_ = true;
  auto use = [&](PlanCode code) -> Status {
    GRADUS_TRY(load(std::move(code), Order::bytes));
    std::vector<int64_t> nanoseconds(6, 0);
    uint8_t byte = 0;
    for (int i = 0; i < 3; ++i) {
      setInput(1);
      GRADUS_TRY(plan_->run(0));
    }
    GRADUS_TRY(plan_->wait());
    GRADUS_TRY(plan_->runTimed(0, nanoseconds));
    GRADUS_TRY(plan_->runStepwise(0, [](size_t) { return Status(); }));
    GRADUS_TRY(plan_->write(Region::state, 0, {&byte, 1}));
    return plan_->read(Region::state, 0, {&byte, 1});
  };
  int64_t calls = 0;
  for (Status status = failed("nothing yet"); !status.ok(); ++calls) {
    plan_.reset();
    open();
    PlanCode code = loadCode();
    fake_->failAfter(calls);
    status = use(std::move(code));
    fake_->failAfter(-1);
    if (!status.ok())
      EXPECT_TRUE(has(status.message(), "CUDA_ERROR_UNKNOWN 999")) << status;
    plan_.reset();
    EXPECT_EQ(report(), "") << "call " << calls << ": " << status;
    ASSERT_LT(calls, 1000);
  }
  EXPECT_GT(calls, 100);
}

TEST_F(CudaPlanTest, SaysThatTheCardWasLost) {
  FakeOptions options;
  options.lostAt = 1;
  options.lostAs = Result::unknown;
  ASSERT_TRUE(load(options).ok());
  setInput(1);
  ASSERT_TRUE(plan_->run(0).ok());
  ASSERT_TRUE(plan_->wait().ok());
  setInput(2);
  ASSERT_TRUE(plan_->run(0).ok());
  EXPECT_EQ(
      plan_->wait().message(),
      "running a step on the emulated GPU: the driver cannot say why: the "
      "GPU was lost, or its kernel module does not work "
      "(CUDA_ERROR_UNKNOWN 999)");
  setInput(3);
  EXPECT_FALSE(plan_->run(0).ok());
  uint8_t byte;
  EXPECT_FALSE(plan_->read(Region::state, 0, {&byte, 1}).ok());
}
