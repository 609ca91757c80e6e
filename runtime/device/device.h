// The devices that run plans: a CPU (runtime/cpu), a GPU, or stand-ins in
// tests.
//
// A session uses a device only through this header. Its memory may be out of
// the host's reach: inputs and outputs pass through ports, and read() and
// write() reach all other memory.

#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/collectives/collectives.h"

#include "runtime/status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradus::runtime {

/// The host memory of an input or an output.
struct HostPort {
  uint8_t *data = nullptr; // null if it has no bytes
  size_t bytes = 0;
};

/// An input that lies in the device's memory: behind the work that is in
/// `stream` (null: the device's default stream).
struct DeviceInput {
  size_t input = 0; // its number in the graph
  const void *data = nullptr;
  void *stream = nullptr;
};

/// Called before each command of a graph, and once after the last with the
/// number of commands.
using Look = std::function<Status(size_t command)>;

/// A plan prepared on a device: its commands, and its memory, which is zero at
/// first. Graphs are numbered as in the header. One thread at a time uses it.
class DevicePlan {
public:
  virtual ~DevicePlan() = default;

  /// The device for people: "8 threads", "NVIDIA H200".
  virtual std::string name() const = 0;
  /// The number of threads of the host that compute steps.
  virtual int threads() const = 0;
  /// The bytes that it allocated beyond the plan's.
  virtual size_t extraBytes() const = 0;
  /// The number of launches that a run of a graph takes, as far as is known
  /// before it runs: kernels, copies, event records. 0 if they are not counted.
  virtual size_t launches(size_t) const { return 0; }
  /// The choices made when loading, for people; empty if there were none.
  virtual std::string chosen() const { return ""; }

  /// The memory from which the next run of a graph reads its inputs. May wait
  /// until it can be written; the addresses are valid until that run.
  virtual std::span<const HostPort> inputs(size_t graph) = 0;
  /// Lets the next run of a graph read an input from the device's memory
  /// instead of from its port. Called behind inputs(); run() returns when it
  /// was read. Refused where the device's memory is the host's.
  virtual Status readFromDevice(size_t, const DeviceInput &) {
    return invalid("an input is said to be in the memory of a GPU, and this "
                   "session runs on ",
                   name(), ", which has none of its own");
  }
  /// The memory in which the last run of a graph left its outputs; valid until
  /// the next run of any graph.
  virtual std::span<const HostPort> outputs(size_t graph) = 0;

  /// Runs a graph: reads inputs from their ports, runs all commands, writes
  /// outputs to theirs. May return before that is done: until wait() only
  /// inputs(), run() or functions that wait may be called.
  virtual Status run(size_t graph) = 0;
  /// Waits for what run() began, and returns its status.
  virtual Status wait() { return Status(); }
  /// Calls run() and wait(), adding the time of each command.
  virtual Status runTimed(size_t graph, std::span<int64_t> nanoseconds) = 0;
  /// Calls run() and wait(), and before each command `look`, which may read
  /// memory as the previous commands left it. A failure of `look` ends the run.
  virtual Status runStepwise(size_t graph, const Look &look) = 0;

  /// These wait, then copy bytes of a region out or in. Nobody writes to
  /// constants.
  virtual Status read(artifact::Region region, uint64_t offset,
                      std::span<uint8_t> to) = 0;
  virtual Status write(artifact::Region region, uint64_t offset,
                       std::span<const uint8_t> from) = 0;
  /// The start of a region in host memory that can be read without a copy, and
  /// of `state` also written, between runs; null for other regions and those
  /// without bytes.
  virtual const uint8_t *memory(artifact::Region) const { return nullptr; }
  /// Where in its region a buffer lies on this rank.
  virtual uint64_t offsetOf(const artifact::Buffer &buffer) const {
    return buffer.offset();
  }
};

struct LoadOptions {
  int threads = 0;            // maximum on the host; 0: one per core
  bool deterministic = false; // bits do not depend on the number of threads
  /// Adds over the ranks that run the plan together; null: one alone.
  std::shared_ptr<Collectives> collectives = nullptr;
};

struct TuneOptions {
  int trials = 20;      // measurements of each algorithm
  double margin = 0.02; // minimum part of the time that a better one saves
  /// Called before each call is measured, with its number from 0 and how many
  /// there are.
  std::function<void(size_t number, size_t count)> progress;
};

/// A library call and its measured times.
struct TunedCall {
  std::string call;      // library_text.h
  std::string library;   // "cublaslt 130100"
  std::string algorithm; // the fastest; empty: the library's choice
  double microseconds = 0, defaultMicroseconds = 0;
  size_t candidates = 0; // measured besides the library's choice
};

/// The form in which a device computes the library calls of one kind.
struct CallForm {
  std::string call; // the name of its commands: "matmul+bias"
  std::string form; // "whole", or what replaces it
  /// The reason why it is not whole: "cuBLASLt has no algorithm with BIAS".
  std::string why;
  size_t count = 0;
};

/// A device outlives the plans that it has loaded.
class Device {
public:
  virtual ~Device() = default;

  /// The name in errors: "this processor", "card 0 (NVIDIA H200)".
  virtual std::string name() const = 0;
  /// The start of its plans' targets: "cpu", "cuda".
  virtual std::string kind() const = 0;
  /// The target to compile for so that there is a plan for it: "cpu",
  /// "emulated".
  virtual std::string target() const = 0;
  /// The reason why it cannot run a plan of its kind, which follows the plan's
  /// name in an error: "needs avx512f, amx-bf16"; empty if it can.
  virtual std::string refusal(const artifact::Plan &plan) const = 0;
  /// Loads a plan and allocates everything that steps need. The artifact
  /// outlives the plan.
  virtual StatusOr<std::unique_ptr<DevicePlan>>
  load(const Artifact &artifact, const artifact::Plan &plan,
       const LoadOptions &options) = 0;

  /// The name of a GPU as artifacts write it: "NVIDIA H200"; empty if the
  /// device is not a GPU.
  virtual std::string cardName() const { return ""; }
  /// Measures which algorithms of the libraries are fastest for the calls of a
  /// plan, each distinct call once.
  virtual StatusOr<std::vector<TunedCall>> tune(const artifact::Plan &,
                                                const TuneOptions &) {
    return invalid(name(), " has nothing to tune: algorithms of libraries are "
                           "chosen for GPUs");
  }
  /// The form in which it would compute each kind of library call, in the
  /// plan's order; empty if it has no choice.
  virtual StatusOr<std::vector<CallForm>> forms(const Artifact &,
                                                const artifact::Plan &) {
    return std::vector<CallForm>();
  }
};

} // namespace gradus::runtime
