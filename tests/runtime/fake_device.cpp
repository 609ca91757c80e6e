// Ports apart from the plan's memory, and runs that are put off.

#include "fake_device.h"

#include "runtime/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

using namespace gradus::runtime;

namespace gradus::test {

namespace {

/// What lies where nothing has been written yet, or no longer.
constexpr uint8_t kNothing = 0xa5;

/// Memory of our own in place of a device's ports.
struct Ports {
  explicit Ports(std::span<const HostPort> of) {
    for (const HostPort &port : of)
      bytes.emplace_back(port.bytes, kNothing);
    for (std::vector<uint8_t> &each : bytes)
      ports.push_back({each.data(), each.size()});
  }
  void clear() {
    for (std::vector<uint8_t> &each : bytes)
      std::fill(each.begin(), each.end(), kNothing);
  }
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<HostPort> ports;
};

void copy(std::span<const HostPort> from, std::span<const HostPort> to) {
  for (size_t i = 0; i < from.size(); ++i)
    std::copy_n(from[i].data, from[i].bytes, to[i].data);
}

struct Graph {
  Ports inputs[2]; // written and read in turns
  Ports outputs;
  size_t turn = 0;
};

class FakePlan : public DevicePlan {
public:
  FakePlan(const FakeDevice &device, std::unique_ptr<DevicePlan> inner,
           size_t graphs)
      : device_(device), inner_(std::move(inner)) {
    for (size_t i = 0; i < graphs; ++i)
      graphs_.push_back({{Ports(inner_->inputs(i)), Ports(inner_->inputs(i))},
                         Ports(inner_->outputs(i))});
  }

  std::string name() const override { return inner_->name(); }
  int threads() const override { return inner_->threads(); }
  size_t extraBytes() const override { return inner_->extraBytes(); }

  std::span<const HostPort> inputs(size_t graph) override {
    return graphs_[graph].inputs[graphs_[graph].turn].ports;
  }
  std::span<const HostPort> outputs(size_t graph) override {
    EXPECT_FALSE(pending_) << "nobody waited for the step";
    return graphs_[graph].outputs.ports;
  }

  Status run(size_t graph) override {
    GRADUS_TRY(wait());
    pending_ = graph;
    graphs_[graph].turn ^= 1;
    return Status();
  }
  Status wait() override {
    if (!pending_)
      return health();
    size_t graph = *std::exchange(pending_, std::nullopt);
    return runNow(graph, [&] { return inner_->run(graph); });
  }
  Status runTimed(size_t graph, std::span<int64_t> nanoseconds) override {
    GRADUS_TRY(run(graph));
    pending_.reset();
    return runNow(graph, [&] { return inner_->runTimed(graph, nanoseconds); });
  }
  Status runStepwise(size_t graph, const Look &look) override {
    GRADUS_TRY(run(graph));
    pending_.reset();
    return runNow(graph, [&] { return inner_->runStepwise(graph, look); });
  }

  Status read(artifact::Region region, uint64_t offset,
              std::span<uint8_t> to) override {
    GRADUS_TRY(wait());
    return inner_->read(region, offset, to);
  }
  Status write(artifact::Region region, uint64_t offset,
               std::span<const uint8_t> from) override {
    GRADUS_TRY(wait());
    return inner_->write(region, offset, from);
  }

private:
  Status health() const {
    return device_.lost || ran_ == device_.lostAfter
               ? failed("the card is lost")
               : Status();
  }

  /// On the inputs of the turn before.
  template <typename Run> Status runNow(size_t number, Run run) {
    Graph &graph = graphs_[number];
    Ports &inputs = graph.inputs[graph.turn ^ 1];
    for (Graph &each : graphs_)
      each.outputs.clear();
    GRADUS_TRY(health());
    copy(inputs.ports, inner_->inputs(number));
    inputs.clear();
    GRADUS_TRY(run());
    ++ran_;
    copy(inner_->outputs(number), graph.outputs.ports);
    return Status();
  }

  const FakeDevice &device_;
  std::unique_ptr<DevicePlan> inner_;
  std::vector<Graph> graphs_;
  std::optional<size_t> pending_; // the graph that runs
  int ran_ = 0;
};

} // namespace

StatusOr<std::unique_ptr<DevicePlan>>
FakeDevice::load(const Artifact &artifact, const artifact::Plan &plan,
                 const LoadOptions &options) {
  GRADUS_ASSIGN(auto inner, CpuDevice().load(artifact, plan, options));
  return std::unique_ptr<DevicePlan>(std::make_unique<FakePlan>(
      *this, std::move(inner), artifact.header().graphs()->size()));
}

std::shared_ptr<Device> deviceOf(const std::string &name) {
  if (name == "fake")
    return std::make_shared<FakeDevice>();
  return std::make_shared<CpuDevice>();
}

} // namespace gradus::test
