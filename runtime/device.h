// What runs plans: a processor (runtime/cpu), a card, or what tests put in
// their place.
//
// A session speaks to a device through this header alone. Its memory may be out
// of the host's reach: ports are where inputs and outputs pass through, and
// read() and write() reach everything else.

#pragma once

#include "runtime/artifact.h"

#include "runtime/status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradus::runtime {

/// Host memory of an input or an output.
struct HostPort {
  uint8_t *data = nullptr; // null where it has no bytes
  size_t bytes = 0;
};

/// Called before each command of a graph, and once more behind the last with
/// their number.
using Look = std::function<Status(size_t command)>;

/// A plan made ready on a device: its commands, and its memory, which is zero
/// at first. Graphs are numbered as in the header. One thread at a time uses
/// it.
class DevicePlan {
public:
  virtual ~DevicePlan() = default;

  /// "8 threads", "NVIDIA H200"
  virtual std::string name() const = 0;
  /// Threads of the host that compute steps.
  virtual int threads() const = 0;
  /// Bytes that it took beyond what the plan says.
  virtual size_t extraBytes() const = 0;
  /// What loading chose, in words for people; empty where it had no choice.
  virtual std::string chosen() const { return ""; }

  /// Where the next run of a graph takes its inputs from. May wait until they
  /// can be written; the places hold until that run.
  virtual std::span<const HostPort> inputs(size_t graph) = 0;
  /// Where the last run of a graph left its outputs; they hold until the next
  /// run of any graph.
  virtual std::span<const HostPort> outputs(size_t graph) = 0;

  /// Runs a graph: inputs from their ports, all commands, outputs to theirs.
  /// May return before that is done: only inputs() and run() are called then,
  /// or what waits.
  virtual Status run(size_t graph) = 0;
  /// Waits for what run() began, and says how it ended.
  virtual Status wait() { return Status(); }
  /// run() and wait(), adding the time of each command.
  virtual Status runTimed(size_t graph, std::span<int64_t> nanoseconds) = 0;
  /// run() and wait(), calling `look`, which may read memory as the commands
  /// before have left it. Its failure ends the run.
  virtual Status runStepwise(size_t graph, const Look &look) = 0;

  /// Wait, and copy bytes of a region out or in. Nobody writes to constants.
  virtual Status read(artifact::Region region, uint64_t offset,
                      std::span<uint8_t> to) = 0;
  virtual Status write(artifact::Region region, uint64_t offset,
                       std::span<const uint8_t> from) = 0;
  /// The start of a region that lies in the host's memory and is looked at
  /// without a copy; null elsewhere, and of a region without bytes.
  virtual const uint8_t *memory(artifact::Region) const { return nullptr; }
};

struct LoadOptions {
  int threads = 0;            // of the host, at most; 0: one per core
  bool deterministic = false; // bits do not depend on their number
};

struct TuneOptions {
  int trials = 20;      // times that each algorithm is measured
  double margin = 0.02; // part of the time that a better one saves at least
  /// Called before each call is measured: which, from 0, and of how many.
  std::function<void(size_t number, size_t count)> progress;
};

/// A call of a library, as it was measured.
struct TunedCall {
  std::string call;      // library_text.h
  std::string library;   // "cublaslt 130100"
  std::string algorithm; // the fastest; empty: what the library chooses
  double microseconds = 0, defaultMicroseconds = 0;
  size_t candidates = 0; // that were measured, besides the library's choice
};

/// Outlives the plans that it has loaded.
class Device {
public:
  virtual ~Device() = default;

  /// For errors: "this processor", "card 0 (NVIDIA H200)"
  virtual std::string name() const = 0;
  /// What the targets of its plans begin with: "cpu", "cuda"
  virtual std::string kind() const = 0;
  /// What to compile for so that there is a plan for it: "cpu", "emulated"
  virtual std::string target() const = 0;
  /// Why it cannot run a plan of its kind, behind the plan's name: "needs
  /// avx512f, amx-bf16"; empty: it can.
  virtual std::string refusal(const artifact::Plan &plan) const = 0;
  /// Allocates everything that steps will need. The artifact outlives the plan.
  virtual StatusOr<std::unique_ptr<DevicePlan>>
  load(const Artifact &artifact, const artifact::Plan &plan,
       const LoadOptions &options) = 0;

  /// What artifacts call a card of this kind: "NVIDIA H200"; empty: it is none.
  virtual std::string cardName() const { return ""; }
  /// Measures by which algorithms libraries compute the calls of a plan
  /// fastest, each call once.
  virtual StatusOr<std::vector<TunedCall>> tune(const artifact::Plan &,
                                                const TuneOptions &) {
    return invalid(name(), " has nothing to tune: algorithms of libraries are "
                           "chosen for GPUs");
  }
};

} // namespace gradus::runtime
