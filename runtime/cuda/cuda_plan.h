// A plan on a GPU: state, arena and constants as one allocation each, every
// graph of the program as one CUDA graph, inputs and outputs through pinned
// memory.
#pragma once

#include "runtime/cuda/plan_memory.h"
#include "runtime/cuda/staging.h"
#include "runtime/device/device.h"

namespace gradus::runtime::cuda {

/// The kernels of a plan on this GPU: the loaded image, and the launch data of
/// each kernel, numbered as in the plan.
struct PlanCode {
  Owned<Module> module;
  std::vector<KernelFacts> kernels;
};

class CudaPlan : public DevicePlan {
public:
  /// The bytes of a graph's outputs up to which pinned memory is allocated at
  /// load. Pinned memory is taken from the host for good, and a gigabyte takes
  /// half a second: larger outputs, such as the logits of `predict`, get it
  /// when the graph first runs, which never happens in training.
  static constexpr size_t kPinnedAtLoad = size_t(64) << 20;

  /// Loads a plan. The GPU, the artifact and `library`, which serves the
  /// library commands, must outlive it; null if it has no such commands.
  static StatusOr<std::unique_ptr<CudaPlan>>
  load(const Card &card, const Artifact &artifact, const artifact::Plan &plan,
       PlanCode code, LibraryServer *library, Order order = Order::chain,
       size_t pinnedAtLoad = kPinnedAtLoad);
  ~CudaPlan() override;

  std::string name() const override { return card_.name(); }
  int threads() const override { return 1; }
  size_t extraBytes() const override { return memory_.extraBytes(); }
  /// Counts the copies of late outputs only after the graph has run.
  size_t launches(size_t graph) const override;
  std::string chosen() const override;

  std::span<const HostPort> inputs(size_t graph) override;
  Status readFromDevice(size_t graph, const DeviceInput &input) override;
  std::span<const HostPort> outputs(size_t graph) override;
  Status run(size_t graph) override;
  Status wait() override;
  Status runTimed(size_t graph, std::span<int64_t> nanoseconds) override;
  Status runStepwise(size_t graph, const Look &look) override;
  Status read(artifact::Region region, uint64_t offset,
              std::span<uint8_t> to) override;
  Status write(artifact::Region region, uint64_t offset,
               std::span<const uint8_t> from) override;

private:
  /// A graph of the program.
  struct Step {
    const artifact::GraphPlan *plan = nullptr;
    std::vector<HostPort> inputs, outputs;
    std::vector<uint64_t> inputOffsets; // offsets in the staged block
    std::optional<StepGraph> whole;
    // The memory of outputs that are too large for the block of all graphs, and
    // the graph that copies them after `whole`: created when the graph first
    // runs.
    bool hasLateOutputs = false;
    Owned<void *> lateOutputs;
    std::optional<StepGraph> leaving;
    // The parts of `whole`, to run it in steps: inputs, each command, outputs.
    std::vector<std::vector<Node>> parts;
    // Created on first use: each part by itself, and all parts with an event
    // record after each, for timing.
    std::vector<std::optional<StepGraph>> stepwise;
    std::vector<Owned<Event>> ends;
    std::optional<StepGraph> timed;
  };

  CudaPlan(const Card &card, const Artifact &artifact,
           const artifact::Plan &plan, PlanCode code, LibraryServer *library)
      : card_(card), artifact_(artifact), plan_(plan), code_(std::move(code)),
        nodes_(card, plan, *artifact.kernels(plan), code_.kernels, library) {}

  Status allocate(const StepExtras &extras);
  size_t layOutPorts();
  Status prepare(Order order);
  StatusOr<std::vector<Node>> inputNodes(const Step &step) const;
  std::vector<Node> outputNodes(const Step &step) const;
  Status prepareOutputs(Step &step);
  void *outputsOf(const Step &step) const {
    return step.hasLateOutputs ? step.lateOutputs.get() : outputs_.get();
  }
  Status sendTables();
  Status begin(Step &step);
  Status upload(const Step &step);
  Status buildParts(Step &step);
  Status buildTimed(Step &step);
  Status launchTimed(Step &step);
  Status runPart(Step &step, size_t part);
  Status tell(Result result, const std::string &what) const {
    return check(card_.driver(), result, what);
  }

  const Card &card_;
  const Artifact &artifact_;
  const artifact::Plan &plan_;
  PlanCode code_;
  StepNodes nodes_;
  size_t pinnedAtLoad_ = kPinnedAtLoad;
  PlanMemory memory_;
  Owned<void *> outputs_;
  Owned<Stream> stream_;
  std::optional<Staging> staging_;
  std::vector<Step> steps_; // numbered as in the header
  Status inputsFailed_;
  std::vector<InputOnCard> onCard_; // inputs of the next run
};

} // namespace gradus::runtime::cuda
