// The parts of a session, for the sources that implement it.

#pragma once

#include "runtime/device/device.h"
#include "runtime/session/host_view.h"
#include "runtime/session/nonfinite.h"
#include "runtime/session/place.h"
#include "runtime/session/session.h"
#include "runtime/session/variants.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace gradus::runtime {

/// A graph as a session runs it.
struct GraphRuns {
  const artifact::GraphPlan *plan;
  size_t lastVariant;       // the graph that ran in its place, or it
  Variants variants;        // none: it runs itself
  std::span<int64_t> times; // of its commands; empty: nobody asks
  int64_t count = 0;
};

/// The states that a graph makes of others.
struct StateCopies {
  int graph = -1;       // -1: there are none
  bool isStale = false; // what they are made of was changed from outside

  void touch() { isStale = graph >= 0; }
};

/// The functions that look into steps.
struct StepObservers {
  std::unique_ptr<NonfiniteSearch> search; // null: off
  Probe probe;                             // empty: none
};

struct Session::Parts {
  std::shared_ptr<const Artifact> artifact;
  std::shared_ptr<Device> device;
  const artifact::Plan &plan;
  std::unique_ptr<DevicePlan> loaded;
  HostStates values;             // of states
  HostView view;                 // of buffers
  std::vector<GraphInfo> graphs; // in the header's order
  std::vector<GraphRuns> runs;   // one per graph
  std::vector<StateInfo> states;
  StateCopies copies;
  int counter = -1; // the state `step`
  std::atomic<bool> cancelled{false};
  StepObservers observers;
  std::vector<size_t> awaited; // numbers that may not be set yet
  Place place;

  Parts(std::shared_ptr<const Artifact> artifact,
        std::shared_ptr<Device> device, const artifact::Plan &plan,
        std::unique_ptr<DevicePlan> loaded);
  const std::string &where() const { return artifact->path(); }
  void readSchedules();
  Status verifyOrigin() const;
  int findCounter(const std::string &name) const; // -1: none
  StatusOr<int64_t> countOfSteps(int counter);
  StatusOr<bool> goesOn(size_t graph);
  Status setPlaces();
  Status refreshCopies();
  Status verifyNumbersAreSet();
  Status runGraph(size_t graph, bool isLaterTurn);
  StatusOr<size_t> variantOf(size_t graph);
  Status verifyCall(int graph, size_t steps, size_t inputs,
                    size_t outputs) const;
  Status takeInputs(size_t graph, const void *const *inputs,
                    const OnDevice &on);
  Status giveOutputs(size_t graph, void *const *outputs);
  Status runOnce(size_t graph, const void *const *inputs, void *const *outputs,
                 const OnDevice &on = {});
  Status wait();
};

} // namespace gradus::runtime
