// Many steps begun one behind the other, each on inputs of its own: every one
// takes what was meant for it, though its inputs lie where those of the next
// are on their way to.
//
// A step moves the rows of a state by one and puts its input first, so that the
// state has the last inputs in their order, and nobody waits in between. It is
// made of copies alone and needs no code: a card of any kind runs it.

#include "runtime/cuda/cuda_plan.h"

#include "on_cards.h"
#include "tests/runtime/test_artifact.h"

#include <cstring>

using namespace gradus;
using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using gradus::artifact::DType;
using gradus::artifact::Region;

namespace {

constexpr int64_t kRows = 24; // that the state holds

struct Sizes {
  int64_t row;     // floats of an input
  int64_t ballast; // floats of a block that is copied to keep the card busy
  int copies;      // of it, in a step
};

artifact::TensorTypeT floats(std::vector<int64_t> shape) {
  artifact::TensorTypeT type;
  type.dtype = DType::f32;
  type.shape = std::move(shape);
  return type;
}

/// The test artifact with a program of copies in the place of its own.
class History {
public:
  explicit History(const Sizes &sizes) : sizes_(sizes) {
    setProgram();
    artifact::PlanT &plan = made_.plan();
    plan.buffers.clear();
    plan.graphs.resize(1);
    uint64_t row = bytes(sizes.row), ballast = bytes(sizes.ballast);
    plan.state_offsets = {0, kRows * row};
    plan.state_bytes = kRows * row + ballast;
    plan.arena_bytes = kRows * row + ballast;
    int64_t most = (kRows - 1) * sizes.row;
    uint32_t newer = add(Region::state, 0, most),
             older = add(Region::state, row, most),
             first = add(Region::state, 0, sizes.row),
             heavy = add(Region::state, kRows * row, sizes.ballast),
             input = add(Region::arena, 0, sizes.row),
             kept = add(Region::arena, row, most),
             moved = add(Region::arena, kRows * row, sizes.ballast);
    plan.graphs[0]->inputs = {input};
    plan.graphs[0]->outputs.clear();
    copy(newer, kept);
    for (int i = 0; i < sizes.copies; ++i)
      copy(heavy, moved);
    copy(kept, older);
    copy(input, first);
  }
  std::vector<uint8_t> file() const { return made_.bytes(); }

private:
  static uint64_t bytes(int64_t count) { return uint64_t(count) * 4; }

  void setProgram() {
    artifact::HeaderT &header = made_.header;
    header.states.resize(2);
    for (auto [i, name] : {std::pair(0, "history"), {1, "ballast"}}) {
      header.states[i]->name = name;
      header.states[i]->has_initial = false;
      header.states[i]->fill = 0;
    }
    *header.states[0]->type = floats({kRows, sizes_.row});
    *header.states[1]->type = floats({sizes_.ballast});
    header.graphs.resize(1);
    *header.graphs[0]->inputs[0]->type = floats({sizes_.row});
    header.graphs[0]->outputs.clear();
    made_.train().commands.clear();
  }
  uint32_t add(Region region, uint64_t offset, int64_t count) {
    artifact::BufferT buffer;
    buffer.region = region;
    buffer.offset = offset;
    buffer.size = bytes(count);
    buffer.type = std::make_unique<artifact::TensorTypeT>(floats({count}));
    auto &buffers = made_.plan().buffers;
    buffers.push_back(std::make_unique<artifact::BufferT>(std::move(buffer)));
    return uint32_t(buffers.size() - 1);
  }
  void copy(uint32_t source, uint32_t destination) {
    artifact::CopyCommandT command;
    command.source = source;
    command.destination = destination;
    made_.add("copy", command);
  }

  Sizes sizes_;
  gradus::test::TestArtifact made_;
};

class QueuedSteps : public OnCards {
protected:
  /// Element i of the input of a step.
  static float element(int step, int64_t i) {
    return float(step * 1000 + i % 997);
  }
  static void fill(const HostPort &port, int step) {
    auto *numbers = reinterpret_cast<float *>(port.data);
    for (int64_t i = 0; i < int64_t(port.bytes / sizeof(float)); ++i)
      numbers[i] = element(step, i);
  }

  /// Runs so many steps without a wait; the words of what fails.
  Status run(CudaPlan &plan, int steps) {
    for (int step = 1; step <= steps; ++step) {
      fill(plan.inputs(0)[0], step);
      GRADUS_TRY(plan.run(0));
    }
    return plan.wait();
  }

  void expectHistory(CudaPlan &plan, const Sizes &sizes, int steps) {
    std::vector<float> found(size_t(kRows * sizes.row));
    Status status = plan.read(
        Region::state, 0,
        {reinterpret_cast<uint8_t *>(found.data()), found.size() * 4});
    ASSERT_TRUE(status.ok()) << status;
    for (int64_t row = 0; row < std::min<int64_t>(kRows, steps); ++row)
      for (int64_t i = 0; i < sizes.row; ++i)
        ASSERT_EQ(found[size_t(row * sizes.row + i)],
                  element(steps - int(row), i))
            << row << " steps before the last, element " << i;
  }

  void expectOwnInputs(const Sizes &sizes, int steps) {
    auto artifact = Artifact::fromBytes(History(sizes).file(), "history");
    ASSERT_TRUE(artifact.ok()) << artifact.status();
    auto plan = CudaPlan::load(*card_, **artifact,
                               *(*artifact)->header().plans()->Get(0), {},
                               /*library=*/nullptr);
    ASSERT_TRUE(plan.ok()) << plan.status();
    Status status = run(**plan, steps);
    ASSERT_TRUE(status.ok()) << status;
    expectHistory(**plan, sizes, steps);
  }
};

} // namespace

INSTANTIATE_TEST_SUITE_P(On, QueuedSteps,
                         testing::Values(Where::emulated, Where::card),
                         nameOfPlace);

/// On a card a step takes milliseconds and the host is many steps ahead of it.
TEST_P(QueuedSteps, TakeTheirOwnInputs) {
  if (!isEmulated()) {
    open();
    if (card_)
      expectOwnInputs({1 << 16, 1 << 26, 16}, 20);
    return;
  }
  for (unsigned seed = 0; seed < 20; ++seed) {
    FakeOptions options;
    options.seed = seed;
    open(options);
    expectOwnInputs({64, 64, 1}, 30);
    EXPECT_EQ(fake_->report(), "");
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}
