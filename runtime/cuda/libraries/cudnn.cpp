// Turns a command into a graph, the graph into a plan, and runs the plan for
// each call on its tensors.

#include "runtime/cuda/libraries/cudnn.h"

#include "runtime/cuda/libraries/cudnn_attention.h"
#include "runtime/cuda/libraries/cudnn_convolution.h"
#include "runtime/cuda/libraries/cudnn_plan.h"
#include "runtime/library_ops.h"

#include <bit>
#include <functional>

namespace gradus::runtime::cuda {

namespace cudnn {

namespace {

/// A way to compute a command: the graph, and the share of the command that one
/// run of it computes.
struct Way {
  double share = 1;
  std::function<StatusOr<OperationGraph>()> graph;
};

/// Lists the ways; those that need more scratch come first.
StatusOr<std::vector<Way>> waysOf(const Session &session,
                                  const artifact::LibraryCommand &command) {
  if (windowsOf(command))
    return std::vector<Way>{
        Way{1, [&] { return convolutionGraph(session, command); }}};
  if (!scoresOf(command))
    return invalid("cuDNN is not asked for ",
                   artifact::EnumNameLibraryOp(command.op_type()));
  GRADUS_ASSIGN(std::vector<AttentionPart> parts, attentionParts(command));
  std::vector<Way> ways;
  for (AttentionPart part : parts)
    ways.push_back(Way{double(part.sequences * part.heads) /
                           double(parts[0].sequences * parts[0].heads),
                       [&session, &command, part] {
                         return attentionGraph(session, command, part);
                       }});
  return ways;
}

/// The engine's workspace follows the graph's own tensors.
uint64_t workspaceIn(uint64_t scratchBytes, const OperationGraph &graph) {
  return scratchBytes - std::min(scratchBytes, graph.scratchBytes);
}

class GraphCall : public LibraryCall {
public:
  GraphCall(std::shared_ptr<Session> session, OperationGraph graph,
            ExecutionPlan plan)
      : session_(std::move(session)), graph_(std::move(graph)),
        plan_(std::move(plan)) {}

  uint64_t scratchBytes() const override {
    return graph_.scratchBytes + plan_.workspace;
  }
  std::string algorithm() const override { return plan_.algorithm; }

  Status enqueue(Stream stream, const CallAddresses &addresses) override {
    if (graph_.runs.empty())
      return enqueueRun(stream, addresses);
    for (const RunOffsets &run : graph_.runs) {
      CallAddresses moved = addresses;
      for (size_t i = 0; i < moved.inputs.size(); ++i)
        moved.inputs[i] += run.inputs[i];
      for (size_t i = 0; i < moved.outputs.size(); ++i)
        moved.outputs[i] += run.outputs[i];
      GRADUS_TRY(enqueueRun(stream, moved));
    }
    return Status();
  }

  /// Resets the handle's stream. enqueue() must not do this: null is the legacy
  /// stream, which must not be named during capture. The next call reports a
  /// failure.
  void leaveStream() override {
    (void)session_->library.setStream(session_->handle, nullptr);
  }

private:
  Status enqueueRun(Stream stream, const CallAddresses &addresses) {
    const Library &library = session_->library;
    std::vector<int64_t> ids;
    std::vector<void *> pointers;
    for (Place &place : graph_.places) {
      ids.push_back(place.id);
      pointers.push_back(pointerTo(place, addresses));
    }
    Descriptor pack(library, Kind::variantPack);
    pack.set(Attribute::packIds, ids)
        .set(Attribute::packPointers, pointers)
        .set(Attribute::packWorkspace,
             at(addresses.scratch + graph_.scratchBytes));
    GRADUS_TRY(pack.finalize("addressing " + graph_.what));
    GRADUS_TRY(check(library, library.setStream(session_->handle, stream),
                     "beginning " + graph_.what));
    return check(
        library,
        library.execute(session_->handle, plan_.plan.raw(), pack.raw()),
        "beginning " + graph_.what);
  }

  static void *at(DevicePointer address) {
    return std::bit_cast<void *>(address);
  }
  static void *pointerTo(Place &place, const CallAddresses &addresses) {
    switch (place.in) {
    case Place::In::inputs:
      return at(addresses.inputs[place.index]);
    case Place::In::outputs:
      return at(addresses.outputs[place.index]);
    case Place::In::scratch:
      return at(addresses.scratch + place.index);
    case Place::In::host:
      break;
    }
    return &place.number;
  }

  std::shared_ptr<Session> session_; // destroyed last
  OperationGraph graph_;
  ExecutionPlan plan_;
};

class GraphServer : public LibraryServer {
public:
  explicit GraphServer(std::shared_ptr<Session> session)
      : session_(std::move(session)) {}

  StatusOr<std::unique_ptr<LibraryCall>>
  prepare(const artifact::LibraryCommand &command,
          uint64_t scratchBytes) override {
    uint64_t most = mostFor(command, scratchBytes);
    return firstThatFits(command, most, [&](const OperationGraph &graph) {
      return choosePlan(*session_, graph, workspaceIn(most, graph));
    });
  }

  void lend(uint64_t bytes) override { lent_ = bytes; }

  StatusOr<std::unique_ptr<LibraryCall>>
  prepareWith(const std::string &algorithm,
              const artifact::LibraryCommand &command,
              uint64_t scratchBytes) override {
    GRADUS_ASSIGN(
        auto call,
        firstThatFits(command, scratchBytes, [&](const OperationGraph &graph) {
          return planOf(*session_, graph, algorithm);
        }));
    if (call->scratchBytes() > scratchBytes)
      return failed("algorithm ", algorithm, " of cuDNN needs ",
                    call->scratchBytes(), " bytes of scratch, and there are ",
                    scratchBytes);
    return call;
  }

  StatusOr<Algorithms> algorithms(const artifact::LibraryCommand &command,
                                  uint64_t scratchBytes) override {
    GRADUS_ASSIGN(std::vector<Way> ways, waysOf(*session_, command));
    Status failure;
    for (size_t i = 0; i < std::min(ways.size(), kMostWays); ++i) {
      GRADUS_ASSIGN(OperationGraph graph, ways[i].graph());
      auto texts =
          algorithmsOf(*session_, graph, workspaceIn(scratchBytes, graph));
      if (texts.ok() && !texts->empty())
        return Algorithms{session_->name(), *std::move(texts)};
      if (failure.ok())
        failure = texts.status();
    }
    GRADUS_TRY(failure);
    return Algorithms{session_->name(), {}};
  }

  bool warmsUp() const override { return true; }

private:
  static constexpr size_t kMostWays = 4; // after which the search ends

  /// The scratch for a command; attention gradients use only the plan's, in
  /// parts.
  uint64_t mostFor(const artifact::LibraryCommand &command,
                   uint64_t scratchBytes) const {
    bool lends = command.op_type() != artifact::LibraryOp::attention_backward;
    return lends ? std::max(scratchBytes, lent_) : scratchBytes;
  }

  /// Returns the first way whose plan needs at most `scratchBytes`, else the
  /// one that needs the least. Skips plans that are too large in proportion to
  /// one that was built. If a way has no plan, smaller parts may have one.
  template <typename Choose>
  StatusOr<std::unique_ptr<LibraryCall>>
  firstThatFits(const artifact::LibraryCommand &command, uint64_t scratchBytes,
                Choose choose) {
    GRADUS_ASSIGN(std::vector<Way> ways, waysOf(*session_, command));
    std::unique_ptr<LibraryCall> least;
    Status failure;
    size_t tried = 0;
    double ofWhole = 0; // estimate for the whole command
    for (const Way &way : ways) {
      if (least && ofWhole * way.share > double(scratchBytes))
        continue;
      GRADUS_ASSIGN(OperationGraph graph, way.graph());
      StatusOr<ExecutionPlan> plan = choose(graph);
      if (!plan.ok()) {
        if (failure.ok())
          failure = plan.status();
        if (++tried == kMostWays)
          break;
        continue;
      }
      auto call = std::make_unique<GraphCall>(session_, std::move(graph),
                                              *std::move(plan));
      uint64_t bytes = call->scratchBytes();
      ofWhole = double(bytes) / way.share;
      if (!least || bytes < least->scratchBytes())
        least = std::move(call);
      if (bytes <= scratchBytes)
        break;
    }
    if (!least)
      return failure;
    return least;
  }

  std::shared_ptr<Session> session_;
  uint64_t lent_ = 0; // scratch beyond the plan's
};

} // namespace

} // namespace cudnn

std::unique_ptr<LibraryServer>
serveCudnn(std::shared_ptr<cudnn::Session> session) {
  return std::make_unique<cudnn::GraphServer>(std::move(session));
}

} // namespace gradus::runtime::cuda
