// A loaded artifact with its own state: the C API wraps it and the CLI uses it.
//
// A session owns its state, its arena and its threads; all are allocated when
// it is created, and a step allocates nothing. One thread at a time may use a
// session, except for cancel(), which any thread or signal handler may call. In
// a child of fork, which has no threads of its parent, calls that run, read or
// write anything fail with an error.

#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/tensor_type.h"

#include "runtime/safetensors.h"
#include "runtime/status.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gradus::runtime {

/// The maximum of SessionOptions::threads.
constexpr int kMostThreads = 1024;

using Log = std::function<void(const std::string &line)>;

/// Looks into a step: called before each command of a graph, and once after the
/// last with the number of commands.
using Probe = std::function<void(size_t graph, size_t command)>;

class Collectives; // runtime/collectives/collectives.h

/// The inputs of a call that lie in the device's memory.
struct OnDevice {
  /// For each address of the inputs whether it is one of these (not 0); empty:
  /// none is.
  std::span<const unsigned char> flags;
  void *stream = nullptr; // whose work makes them; null: the default one
};

struct SessionOptions {
  int threads = 0;            // 0: one per core that the process may use
  bool deterministic = false; // bits do not depend on the number of threads
  std::string device = "cpu"; // see runtime/session/devices.h
  Log log = {};
  /// Connects the ranks that run the artifact together; null: one alone.
  std::shared_ptr<Collectives> collectives = nullptr;
  /// Lets steps of `train` run on ranks that they are not for, where only their
  /// time counts, or whether two devices compute the same.
  bool onAnyRanks = false;
};

/// An input, an output or a state.
struct TensorInfo {
  std::string name;
  TensorType type;
  size_t bytes = 0;
  /// If not 0, the integers of an input are in [-indices, indices).
  int64_t indices = 0;
};

struct StateInfo : TensorInfo {
  artifact::Role role = artifact::Role::parameter;
  /// The range of a number of the recipe: minimum <= number < limit.
  double minimum = -std::numeric_limits<double>::infinity();
  double limit = std::numeric_limits<double>::infinity();
  /// Whether the ranks of a run have different values of it.
  bool isPerRank = false;
  /// The tensor of which each rank has a part, and checkpoints the whole.
  std::optional<TensorType> whole = std::nullopt;

  /// Whether the state is a number of the recipe, under the path of its key:
  /// `optimizer.learning_rate`.
  bool isNumber() const;
};

struct CommandInfo {
  std::string name;               // "conv+bias+tanh"
  std::string kind;               // "kernel", "library" or "copy"
  std::vector<std::string> nodes; // of the model
  uint64_t flops = 0;
  uint64_t bytes = 0; // minimum memory traffic
};

struct GraphInfo {
  std::string name;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<CommandInfo> commands;
  uint64_t bound = 0; // liveness bound of the arena
};

/// Bytes of memory: those that the plan states before anything runs, and those
/// that the device allocated besides when it loaded the plan.
struct MemoryInfo {
  uint64_t state = 0;
  uint64_t arena = 0;
  uint64_t constants = 0;
  uint64_t code = 0;
  uint64_t bound = 0;  // largest liveness bound of the graphs
  uint64_t atLoad = 0; // besides: staged inputs, memory of libraries
  uint64_t predicted() const { return state + arena + constants + code; }
};

/// The states that a file must have.
enum class Restore {
  everything, // all states: resume
  parameters, // the parameters and buffers that the file has: fine-tuning
};

/// Returns the name of the state that a file's tensor, given by name, is meant
/// for.
using Rename = std::function<std::string(const std::string &name)>;

/// The use of the tensors of a weights file.
struct TakenWeights {
  std::vector<std::string> taken;   // parameters and buffers that the file has
  std::vector<std::string> missing; // parameters that the file lacks
  std::vector<std::string> unused;  // tensors of the file for no state
};

class Device;
class FileHold;

class Session {
public:
  /// Picks the best plan that the device can run, allocates its memory,
  /// prepares its commands and initialises its state.
  static StatusOr<std::unique_ptr<Session>>
  create(std::shared_ptr<const Artifact> artifact, SessionOptions options = {});

  /// Creates a session on an open device; the one in the options is ignored.
  static StatusOr<std::unique_ptr<Session>>
  create(std::shared_ptr<const Artifact> artifact,
         std::shared_ptr<Device> device, SessionOptions options = {});

  /// Calls Artifact::open and create.
  static StatusOr<std::unique_ptr<Session>> load(const std::string &path,
                                                 SessionOptions options = {},
                                                 ReadOptions read = {});

  ~Session();

  const Artifact &artifact() const;
  const artifact::Plan &plan() const; // the one chosen
  int threads() const;
  /// The device for people: "8 threads", "NVIDIA H200".
  std::string runsOn() const;
  MemoryInfo memory() const;
  const std::vector<GraphInfo> &graphs() const;
  const std::vector<StateInfo> &states() const;
  /// The number of a graph or state by its name, or -1.
  int findGraph(const std::string &name) const;
  int findState(const std::string &name) const;

  /// The ranks that a run has, whichever number of processes runs them; 0: as
  /// many as processes.
  int64_t logicalRanks() const;
  /// The number of calls of `train` that make one step, a turn of each logical
  /// rank of this process, whose batches they get in that order. Only the last
  /// one changes states that checkpoints have and gives outputs other than 0. 1
  /// where there are no logical ranks.
  int64_t turns() const;

  /// Runs a graph once. For an empty span or a null entry an input is read from
  /// inputBuffer(), and an output stays in outputBuffer().
  Status step(int graph, std::span<const void *const> inputs = {},
              std::span<void *const> outputs = {}, const OnDevice &on = {});

  /// Runs a graph `count` times; `inputs` and `outputs` list those of step 0,
  /// then those of step 1, ... `*done` gets the number of completed steps
  /// (gradus.h).
  Status steps(int graph, int64_t count, std::span<const void *const> inputs,
               std::span<void *const> outputs, int64_t *done = nullptr,
               const OnDevice &on = {});

  /// Stops steps() after its current step, or makes the next one fail: a step
  /// of several turns after the last of them.
  void cancel();

  /// The graph that ran in the place of one at its last step, or it.
  int lastVariant(int graph) const;
  /// The memory from which the next step reads an input (ask before each step:
  /// with a schedule every variant has its own), and in which the last step
  /// left an output (valid until the next step); null if the device has failed.
  void *inputBuffer(int graph, int input);
  const void *outputBuffer(int graph, int output) const;

  /// The value of a state, valid until the next step or a write to it.
  StatusOr<std::span<const uint8_t>> stateBytes(int state) const;
  /// Writes all bytes of a state.
  Status writeState(int state, std::span<const uint8_t> from);

  /// The bytes of a state, to read and to write until the session ends. They
  /// are the device's own where the host can reach them, else a copy that each
  /// call makes anew. What was written there counts once stateChanged() is
  /// called, before anything else. Refused for what is not written as it is
  /// (gradus.h).
  StatusOr<std::span<uint8_t>> stateData(int state);
  Status stateChanged(int state);

  Status readState(const std::string &name, void *data, size_t bytes) const;
  Status writeState(const std::string &name, const void *data, size_t bytes);
  /// The value of the state `step`, or without one the number of train steps
  /// run.
  StatusOr<int64_t> stepCount() const;
  Status resetStates();

  /// Writes a checkpoint, which is that of the last whole step. `notes` are
  /// added to the file's metadata, and `others`, what other ranks have in
  /// states of their own, to its tensors (nameOnRank()). `hold`, if given, goes
  /// on to hold the new file.
  Status saveCheckpoint(const std::string &path,
                        const std::map<std::string, std::string> &notes = {},
                        FileHold *hold = nullptr,
                        std::span<const NamedTensor> others = {}) const;
  /// Returns the bytes of the file that saveCheckpoint() would write.
  StatusOr<OwnedBytes> checkpointBytes() const;
  /// Reads a checkpoint. A step of which some turns have run begins anew.
  Status loadCheckpoint(const std::string &path,
                        Restore what = Restore::everything);
  /// Reads an open file; `where` is its name in errors.
  Status loadCheckpoint(const Safetensors &file, const std::string &where,
                        Restore what = Restore::everything);
  /// Reads the parameters and buffers that a file has, under the names that
  /// `rename` gives its tensors: an empty name leaves a tensor out. `*taken`
  /// tells how they were used.
  Status loadWeights(const std::string &path, const Rename &rename,
                     TakenWeights *taken = nullptr);

  /// While set, a step adds each command's nanoseconds to
  /// `nanoseconds[command]` of its graph (as many as graphs()[g].commands).
  /// Steps at which another variant of the graph runs are not timed, unless
  /// this was called for the variant. Timed steps are slower by about 0.05 us a
  /// command; an empty span turns it off.
  void timeCommands(int graph, std::span<int64_t> nanoseconds);

  /// Returns the number of launches that a run of a graph takes on a device:
  /// kernels, copies and the like; 0 on a CPU, which counts none.
  size_t launches(int graph) const;

  /// Runs a graph once on the inputs as they are and returns the nanoseconds
  /// until the host was free again, which on a device is before the step is
  /// done.
  StatusOr<int64_t> hostTime(int graph);

  /// While set, and no search is on, steps call `probe`; an empty one ends it.
  void setProbe(Probe probe);
  /// The value of a buffer of plan(), for probes: valid until the next call.
  /// Later commands of the step may overwrite a buffer in the arena.
  StatusOr<std::span<const uint8_t>> bufferBytes(uint32_t buffer) const;

  /// While on, a step looks at all of its inputs and at all numbers that its
  /// commands write, which makes it several times slower.
  void searchNonfinite(bool on);
  /// The first finding of the last step, in words: 'command 12 (conv+bias) of
  /// train, the model\'s conv1, wrote nan'; empty if all was finite.
  std::string firstNonfinite() const;
  /// The first state that has a NaN or an infinity since that step, if any.
  std::string spoiledState() const;

private:
  struct Parts;
  explicit Session(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

} // namespace gradus::runtime
