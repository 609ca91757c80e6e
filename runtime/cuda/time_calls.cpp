// A trial is a graph that repeats a call between two events, often enough to be
// measured: the host's time does not count.

#include "runtime/cuda/time_calls.h"

#include "runtime/cuda/graph.h"
#include "runtime/cuda/libraries/library_tensor.h"
#include "runtime/float_conversion.h"

#include <algorithm>
#include <optional>

namespace gradus::runtime::cuda {

namespace {

constexpr double kLongEnough = 200; // microseconds
constexpr double kMostRepeats = 50;

/// Pseudorandom numbers in [-1, 1], or small integers.
std::vector<uint8_t> numbersOf(artifact::DType dtype, size_t count) {
  uint32_t random = 1;
  auto next = [&] { return (random = random * 1664525 + 1013904223) >> 8; };
  std::vector<uint8_t> bytes(count * bytesOf(dtype));
  if (!areFloats("f32", nameOf(dtype))) {
    for (uint8_t &byte : bytes)
      byte = uint8_t(next() % 2);
    return bytes;
  }
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = float(next()) / float(1 << 23) - 1;
  convertFloats("f32", nameOf(dtype), numbers.data(), bytes.data(), count);
  return bytes;
}

/// The memory of one command's tensors, and a stream that runs calls on it.
class Timer {
public:
  explicit Timer(const Card &card) : card_(card) {}
  Timer(const Timer &) = delete;
  ~Timer() {
    if (stream_) // running work uses the memory
      (void)wait("ending");
  }

  Status prepare(const artifact::LibraryCommand &command,
                 uint64_t scratchBytes);
  /// Runs a call once, so that its library has loaded its kernels, and captures
  /// it.
  StatusOr<StepGraph> repeat(LibraryCall &call, int times);
  /// Measures a graph in microseconds.
  StatusOr<double> time(const StepGraph &graph);

private:
  StatusOr<DevicePointer> addTensor(const artifact::LibraryTensor &table,
                                    bool isOutput);
  StatusOr<DevicePointer> allocate(const char *what, uint64_t bytes);
  Status fill(const StridedTensor &tensor, DevicePointer to);
  Status wait(const char *what) {
    return tell(card_.driver().streamSynchronize(stream_.get()), what);
  }
  Status tell(Result result, const char *what) const {
    return check(card_.driver(), result, what);
  }

  const Card &card_;
  std::vector<Owned<DevicePointer>> memory_;
  Owned<Stream> stream_;
  Owned<Event> begin_, end_;
  CallAddresses addresses_;
  std::vector<Access> accesses_;
};

//===-- memory ------------------------------------------------------------===//

StatusOr<DevicePointer> Timer::allocate(const char *what, uint64_t bytes) {
  GRADUS_ASSIGN(Owned<DevicePointer> memory, card_.allocate({what, bytes}));
  memory_.push_back(std::move(memory));
  return memory_.back().get();
}

/// Fills a tensor by repeating the same million numbers.
Status Timer::fill(const StridedTensor &tensor, DevicePointer to) {
  size_t size = bytesOf(tensor.dtype), bytes = tensor.bytes();
  auto some = numbersOf(tensor.dtype, std::min<size_t>(bytes / size, 1000003));
  for (size_t at = 0; at < bytes; at += some.size())
    GRADUS_TRY(tell(card_.driver().copyToDevice(
                        to + at, some.data(), std::min(some.size(), bytes - at),
                        stream_.get()),
                    "sending inputs"));
  return wait("sending inputs");
}

StatusOr<DevicePointer> Timer::addTensor(const artifact::LibraryTensor &table,
                                         bool isOutput) {
  GRADUS_ASSIGN(StridedTensor tensor, stridedOf(table));
  GRADUS_ASSIGN(DevicePointer address,
                allocate(isOutput ? "an output" : "an input", tensor.bytes()));
  if (!isOutput)
    GRADUS_TRY(fill(tensor, address));
  accesses_.push_back(
      {address, tensor.bytes(), uint32_t(bytesOf(tensor.dtype)), isOutput});
  return address;
}

Status Timer::prepare(const artifact::LibraryCommand &command,
                      uint64_t scratchBytes) {
  GRADUS_ASSIGN(stream_, card_.createStream());
  GRADUS_ASSIGN(begin_, card_.createEvent(/*timed=*/true));
  GRADUS_ASSIGN(end_, card_.createEvent(/*timed=*/true));
  for (size_t i = 0; i < countOf(command.inputs()); ++i) {
    GRADUS_ASSIGN(DevicePointer at,
                  addTensor(*command.inputs()->Get(i), false));
    addresses_.inputs.push_back(at);
  }
  for (size_t i = 0; i < countOf(command.outputs()); ++i) {
    GRADUS_ASSIGN(DevicePointer at,
                  addTensor(*command.outputs()->Get(i), true));
    addresses_.outputs.push_back(at);
  }
  if (scratchBytes) {
    GRADUS_ASSIGN(addresses_.scratch, allocate("scratch", scratchBytes));
    accesses_.push_back({addresses_.scratch, scratchBytes, 1, true});
  }
  return Status();
}

//===-- time --------------------------------------------------------------===//

StatusOr<StepGraph> Timer::repeat(LibraryCall &call, int times) {
  GRADUS_TRY(call.enqueue(stream_.get(), addresses_));
  GRADUS_TRY(wait("running a call for the first time"));
  call.leaveStream();
  std::vector<Node> nodes = {{"the start", RecordNode{begin_.get()}, {}}};
  CaptureNode work{
      [this, &call](Stream stream) { return call.enqueue(stream, addresses_); },
      [&call] { call.leaveStream(); }};
  for (int i = 0; i < times; ++i)
    nodes.push_back({"a call", work, accesses_});
  nodes.push_back({"the end", RecordNode{end_.get()}, {}});
  GRADUS_ASSIGN(StepGraph graph, StepGraph::build(card_, nodes, Order::chain));
  GRADUS_TRY(graph.upload(stream_.get()));
  return graph;
}

StatusOr<double> Timer::time(const StepGraph &graph) {
  GRADUS_TRY(graph.launch(stream_.get()));
  GRADUS_TRY(wait("measuring calls"));
  float milliseconds = 0;
  GRADUS_TRY(
      tell(card_.driver().eventElapsed(&milliseconds, begin_.get(), end_.get()),
           "measuring calls"));
  return double(milliseconds) * 1e3;
}

/// The repetitions that make a trial of the first call long enough.
StatusOr<int> repeatsFor(Timer &timer, LibraryCall &first) {
  GRADUS_ASSIGN(StepGraph once, timer.repeat(first, 1));
  GRADUS_TRY(timer.time(once).status());
  GRADUS_ASSIGN(double microseconds, timer.time(once));
  return int(
      std::clamp(kLongEnough / std::max(microseconds, 0.1), 1., kMostRepeats));
}

} // namespace

StatusOr<std::vector<Times>> timeCalls(const Card &card,
                                       const artifact::LibraryCommand &command,
                                       const std::vector<LibraryCall *> &calls,
                                       int trials) {
  uint64_t scratchBytes = 0;
  for (const LibraryCall *call : calls)
    scratchBytes = std::max(scratchBytes, call->scratchBytes());
  Timer timer(card);
  GRADUS_TRY(timer.prepare(command, scratchBytes));
  GRADUS_ASSIGN(int repeats, repeatsFor(timer, *calls.front()));
  std::vector<std::optional<StepGraph>> graphs(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    auto graph = timer.repeat(*calls[i], repeats);
    if (graph.ok())
      graphs[i] = *std::move(graph);
    else if (i == 0)
      return graph.status();
  }
  std::vector<Times> times(calls.size());
  for (int trial = -1; trial < trials; ++trial) // the first one warms up
    for (size_t i = 0; i < calls.size(); ++i)
      if (graphs[i]) {
        GRADUS_ASSIGN(double microseconds, timer.time(*graphs[i]));
        if (trial >= 0)
          times[i].push_back(microseconds / repeats);
      }
  return times;
}

} // namespace gradus::runtime::cuda
