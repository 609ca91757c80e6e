// A loaded artifact with its own state: what the C API wraps and the CLI uses.
//
// A session owns its state, its arena and its threads; all are allocated when
// it is created, and a step allocates nothing. One thread at a time may use a
// session, save for cancel(), which any thread or signal handler may call. In a
// child of fork, which has no threads of its parent, calls that run, read or
// write anything fail in words.

#pragma once

#include "runtime/artifact.h"
#include "runtime/tensor_type.h"

#include "runtime/status.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradus::runtime {

/// The most that SessionOptions::threads may ask for.
constexpr int kMostThreads = 1024;

using Log = std::function<void(const std::string &line)>;

/// Looks into a step: called before each command of a graph runs, and once more
/// behind the last with their number.
using Probe = std::function<void(size_t graph, size_t command)>;

struct SessionOptions {
  int threads = 0;            // 0: one per core that the process may use
  bool deterministic = false; // bits do not depend on the number of threads
  std::string device = "cpu"; // runtime/devices.h says which there are
  Log log = {};
};

/// An input, an output or a state.
struct TensorInfo {
  std::string name;
  TensorType type;
  size_t bytes = 0;
  /// Of an input, where not 0: its integers lie in [-indices, indices).
  int64_t indices = 0;
};

struct StateInfo : TensorInfo {
  artifact::Role role = artifact::Role::parameter;
};

struct CommandInfo {
  std::string name;               // "conv+bias+tanh"
  std::string kind;               // "kernel", "library" or "copy"
  std::vector<std::string> nodes; // of the model
  uint64_t flops = 0;
  uint64_t bytes = 0; // least memory traffic
};

struct GraphInfo {
  std::string name;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<CommandInfo> commands;
  uint64_t bound = 0; // liveness bound of the arena
};

/// Bytes, as the plan states them before anything runs, and what the device
/// took besides when it loaded the plan.
struct MemoryInfo {
  uint64_t state = 0;
  uint64_t arena = 0;
  uint64_t constants = 0;
  uint64_t code = 0;
  uint64_t bound = 0;  // largest liveness bound of the graphs
  uint64_t atLoad = 0; // taken besides: staged inputs, what libraries asked for
  uint64_t predicted() const { return state + arena + constants + code; }
};

/// Which tensors of a file must match which states.
enum class Restore {
  everything, // every state must be there: resume
  parameters, // those parameters and buffers that are there: fine-tuning
};

/// The state that a tensor of a file is meant for, by the tensor's name.
using Rename = std::function<std::string(const std::string &name)>;

/// What became of the tensors of a file of weights.
struct TakenWeights {
  std::vector<std::string> taken;   // parameters and buffers that it had
  std::vector<std::string> missing; // parameters that it did not have
  std::vector<std::string> unused;  // its tensors that are no state's
};

class Device;
class FileHold;

class Session {
public:
  /// Picks the best plan that the device can run, allocates its memory,
  /// prepares its commands and initialises its state.
  static StatusOr<std::unique_ptr<Session>>
  create(std::shared_ptr<const Artifact> artifact, SessionOptions options = {});

  /// The same on a device that is at hand, whatever the options name.
  static StatusOr<std::unique_ptr<Session>>
  create(std::shared_ptr<const Artifact> artifact,
         std::shared_ptr<Device> device, SessionOptions options = {});

  /// Artifact::open and create in one.
  static StatusOr<std::unique_ptr<Session>> load(const std::string &path,
                                                 SessionOptions options = {},
                                                 ReadOptions read = {});

  ~Session();

  const Artifact &artifact() const;
  const artifact::Plan &plan() const; // the one chosen
  int threads() const;
  /// "8 threads", "NVIDIA H200"
  std::string runsOn() const;
  MemoryInfo memory() const;
  const std::vector<GraphInfo> &graphs() const;
  const std::vector<StateInfo> &states() const;
  /// Number of a name, or -1.
  int findGraph(const std::string &name) const;
  int findState(const std::string &name) const;

  /// Runs a graph once. An empty span, or a null entry, leaves an input as it
  /// lies in inputBuffer(), or an output in outputBuffer().
  Status step(int graph, std::span<const void *const> inputs = {},
              std::span<void *const> outputs = {});

  /// Runs a graph `count` times; `inputs` and `outputs` list those of step 0,
  /// then those of step 1, ... `*done` gets the number of whole steps
  /// (gradus.h).
  Status steps(int graph, int64_t count, std::span<const void *const> inputs,
               std::span<void *const> outputs, int64_t *done = nullptr);

  /// Stops steps() after its current step, or makes the next one fail.
  void cancel();

  /// Where the next step takes an input from (ask before each step: with a
  /// schedule every variant has its own place), null where the device has
  /// failed, and where the last one left an output (valid until the next step).
  void *inputBuffer(int graph, int input);
  const void *outputBuffer(int graph, int output) const;

  /// What is in a state: valid until the next step, and a write to it.
  StatusOr<std::span<const uint8_t>> stateBytes(int state) const;
  /// Writes all bytes of a state.
  Status writeState(int state, std::span<const uint8_t> from);

  Status readState(const std::string &name, void *data, size_t bytes) const;
  Status writeState(const std::string &name, const void *data, size_t bytes);
  /// The state `step`, or the number of train steps run where there is none.
  StatusOr<int64_t> stepCount() const;
  Status resetStates();

  /// `notes` join the file's metadata. A caller who holds the file goes on
  /// holding it.
  Status saveCheckpoint(const std::string &path,
                        const std::map<std::string, std::string> &notes = {},
                        FileHold *hold = nullptr) const;
  Status loadCheckpoint(const std::string &path,
                        Restore what = Restore::everything);
  /// Those parameters and buffers that a file has, under the names that
  /// `rename` gives its tensors: an empty one leaves a tensor out. `*taken`
  /// says what became of them.
  Status loadWeights(const std::string &path, const Rename &rename,
                     TakenWeights *taken = nullptr);

  /// While set, a step adds each command's nanoseconds to
  /// `nanoseconds[command]` of its graph (as many as graphs()[g].commands).
  /// Steps at which another variant runs in place of the graph are not timed.
  /// Timed steps are slower by about 0.05 us a command; empty turns it off.
  void timeCommands(int graph, std::span<int64_t> nanoseconds);

  /// Runs a graph once, with inputs as they lie: the nanoseconds until the host
  /// was free again, which on a device is before the step is done.
  StatusOr<int64_t> hostTime(int graph);

  /// While set, and no search is on, steps call `probe`; an empty one ends it.
  void setProbe(Probe probe);
  /// What is in a buffer of plan(), for probes: valid until the next call. In
  /// the arena others take its place later in the step.
  StatusOr<std::span<const uint8_t>> bufferBytes(uint32_t buffer) const;

  /// While on, a step looks at all numbers that it is given and that its
  /// commands write, which makes it several times slower.
  void searchNonfinite(bool on);
  /// What the last step found first, in words: 'command 12 (conv+bias) of
  /// train, the model\'s conv1, wrote nan'; empty where all was finite.
  std::string firstNonfinite() const;
  /// The first state that has a NaN or an infinity since that step, if any.
  std::string spoiledState() const;

private:
  struct Parts;
  explicit Session(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

} // namespace gradus::runtime
