// The state of the emulated GPU, and one method for each line of driver.def.
// fake_driver.cpp initialises it and forwards calls; fake_transfers.cpp has
// memory, streams and events; fake_graphs.cpp has modules and graphs;
// fake_capture.cpp has stream capture.
#pragma once

#include "runtime/emulated/emulated_image.h"
#include "runtime/emulated/fake_driver.h"
#include "runtime/emulated/fake_kernel.h"
#include "runtime/emulated/fake_work.h"
#include "runtime/memory.h"

#include <bit>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace gradus::runtime::cuda {

/// The capture of a stream.
struct FakeCapture {
  Graph graph = nullptr;
  GraphNode last = nullptr;
  std::thread::id thread;
  bool broken = false; // by work that no graph can hold
};

struct FakeStream {
  FakeOpRef last;
  std::optional<FakeCapture> capture;
};

struct FakeEvent {
  bool timed = true;
  FakeOpRef recorded;
};

struct FakeModule {
  MemoryBlock code;
  std::vector<EmulatedFunction> functions;
};

struct FakeFunction {
  std::shared_ptr<FakeModule> module;
  Module handle; // of the module
  EmulatedFunction facts;
};

struct FakeNode {
  FakeOp op; // copied for each launch
  std::vector<uint32_t> after;
  std::shared_ptr<FakeEvent> recorded; // of a record node
  std::shared_ptr<FakeLaunch> kernel;
  Function function = nullptr; // of a kernel
  bool isCopy = false;
  bool declared = false;                        // its accesses, by the caller
  std::vector<std::shared_ptr<FakeNode>> child; // run one after another
};

struct FakeGraph {
  std::vector<std::shared_ptr<FakeNode>> nodes;
  std::vector<GraphNode> handles;
};

struct FakeExec {
  std::vector<std::shared_ptr<FakeNode>> nodes;
  FakeOpRef last;
};

/// Objects by handles, which are never reused.
template <typename Handle, typename Object> class FakeHandles {
public:
  explicit FakeHandles(uintptr_t kind) : next_(kind << 32) {}
  /// With an object that lives as long, of the null handle.
  FakeHandles(uintptr_t kind, std::shared_ptr<Object> null)
      : next_(kind << 32), null_(std::move(null)) {}

  Handle add(std::shared_ptr<Object> object) {
    live_[++next_] = std::move(object);
    return std::bit_cast<Handle>(next_);
  }
  /// Returns null for an invalid handle.
  std::shared_ptr<Object> find(Handle handle) const {
    if (!handle)
      return null_;
    auto found = live_.find(reinterpret_cast<uintptr_t>(handle));
    return found == live_.end() ? nullptr : found->second;
  }
  /// Returns any object for which the predicate holds, or null.
  template <typename Predicate>
  std::shared_ptr<Object> findIf(Predicate predicate) const {
    for (const auto &[handle, object] : live_)
      if (predicate(*object))
        return object;
    return nullptr;
  }
  bool remove(Handle handle) {
    return live_.erase(reinterpret_cast<uintptr_t>(handle));
  }
  template <typename Predicate> void removeIf(Predicate predicate) {
    std::erase_if(live_,
                  [&](const auto &each) { return predicate(*each.second); });
  }
  size_t size() const { return live_.size(); }

private:
  uintptr_t next_;
  std::shared_ptr<Object> null_;
  std::map<uintptr_t, std::shared_ptr<Object>> live_;
};

/// Everything that has a handle.
struct FakeObjects {
  FakeHandles<Stream, FakeStream> streams{1, std::make_shared<FakeStream>()};
  FakeHandles<Event, FakeEvent> events{2};
  FakeHandles<Module, FakeModule> modules{3};
  FakeHandles<Function, FakeFunction> functions{4};
  FakeHandles<Graph, FakeGraph> graphs{5};
  FakeHandles<GraphNode, FakeNode> nodes{6};
  FakeHandles<GraphExec, FakeExec> execs{7};
};

/// The driver's context, and the threads for which it is current.
struct FakeContext {
  bool started = false; // by cuInit
  int retains = 0;
  std::set<std::thread::id> threads;

  bool isCurrent() const {
    return threads.contains(std::this_thread::get_id());
  }
};

class FakeState {
public:
  explicit FakeState(const FakeOptions &options)
      : options_(options),
        work_(options.seed, options.countsOperations, options.clock) {}

#define GRADUS_CUDA(needs, name, symbol, parameters) Result name parameters;
#include "runtime/cuda/driver/driver.def"
  Result declareAccesses(GraphNode node, const char *name,
                         const Access *accesses, size_t count);
  Result discard(DevicePointer start, size_t bytes, Stream stream);

  enum class Needs { nothing, init, context, idle, release, freeing };
  /// Runs before each call of `function`: returns an error that prevents the
  /// call.
  Result enter(Needs needs, const char *function);
  bool isLost() const { return lost_ != Result::success; }
  void failAfter(int64_t calls) { failAfter_ = calls; }
  std::mutex &mutex() { return mutex_; }

  /// The first fault, and the reason for the last refused call.
  const std::string &firstFault() const { return fault_; }
  const std::string &lastFault() const { return last_; }
  std::string leaks() const;
  const std::vector<std::string> &log() const { return log_; }

private:
  //===-- faults ---------------------------------------------------------===//

  /// Records a fault and returns its code.
  Result fault(Result result, const std::string &words);
  /// Records a fault in words that name the current call.
  template <typename... Words>
  Result refuse(Result result, const Words &...words) {
    return fault(result, inWords(function_, ": ", words...));
  }
  void note(const FakeOp &op) {
    if (options_.logs)
      log_.push_back(op.name);
  }
  /// Makes every call from now on fail with this code.
  Result lose(Result result);

  //===-- work ------------------------------------------------------------===//

  /// Appends an op to a stream.
  Result begin(Stream stream, FakeOp op);
  FakeOpRef behind(const std::shared_ptr<FakeStream> &stream, FakeOp op);
  Result add(const FakeOpRef &op);
  Result finish(const FakeOpRef &op);
  /// Checks that the bytes are allocated, and written if they are read.
  Result checkBytes(const FakeOp &op, bool readsAll);
  Result transfer(void *to, const void *from, size_t bytes, FakeOp op,
                  Stream stream);
  Result release(DevicePointer start, bool pinned);
  Access accessTo(DevicePointer start, size_t bytes, bool writes) const {
    return {start, bytes, 1, writes};
  }

  //===-- recording -------------------------------------------------------===//

  /// Checks that this thread captures no stream.
  Result checkIdle();
  /// Checks that a stream does not capture, for work that captured graphs of
  /// the emulated GPU do not support.
  Result checkNotRecording(Stream stream);
  Result refuseInCapture(FakeCapture &capture, const std::string &words);
  Result record(FakeCapture &capture, FakeOp op);

  //===-- graphs ----------------------------------------------------------===//

  Result addNode(GraphNode *added, Graph graph, const GraphNode *after,
                 size_t count, std::shared_ptr<FakeNode> node);
  Result checkNode(const FakeNode &node);
  Result runNode(const FakeNode &node);
  Result runKernelNode(const FakeNode &node);
  Result runChild(const FakeNode &node);
  Result checkChild(const FakeNode &node);
  Result runCopy(const FakeOp &op, DevicePointer to, DevicePointer from,
                 size_t bytes);
  Result runFill(const FakeOp &op, DevicePointer to, uint8_t value,
                 size_t bytes);
  FakeOpRef beginNodes(const FakeExec &exec, const FakeOpRef &start,
                       std::vector<FakeOpRef> &ops);

  FakeOptions options_;
  std::mutex mutex_;
  const char *function_ = "";
  std::string fault_, last_;
  Result lost_ = Result::success;
  FakeContext context_;
  int64_t allocated_ = 0, launched_ = 0, failAfter_ = -1;

  FakeMemory memory_;
  FakeWork work_;
  std::vector<std::string> log_;
  FakeObjects objects_;
};

} // namespace gradus::runtime::cuda
