// A command becomes a graph, the graph a plan, and a call runs that on its
// tensors.

#include "runtime/cuda/cudnn.h"

#include "runtime/cuda/cudnn_attention.h"
#include "runtime/cuda/cudnn_convolution.h"
#include "runtime/cuda/cudnn_plan.h"

#include <bit>

namespace gradus::runtime::cuda {

namespace cudnn {

namespace {

StatusOr<OperationGraph> graphOf(const Session &session,
                                 const artifact::LibraryCommand &command) {
  switch (command.op()) {
  case artifact::LibraryOp::convolution:
  case artifact::LibraryOp::convolution_backward_data:
  case artifact::LibraryOp::convolution_backward_weights:
    return convolutionGraph(session, command);
  case artifact::LibraryOp::attention:
  case artifact::LibraryOp::attention_backward:
    return attentionGraph(session, command);
  default:
    return invalid("cuDNN is not asked for ",
                   artifact::EnumNameLibraryOp(command.op()));
  }
}

/// The graph's own tensors are in front of the engine's workspace.
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

  /// Not in enqueue(): while a stream records, the legacy one, which null is,
  /// is nobody's to name. Should this fail, the next call's says so.
  void leaveStream() override {
    (void)session_->library.setStream(session_->handle, nullptr);
  }

private:
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

  std::shared_ptr<Session> session_; // goes last
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
    GRADUS_ASSIGN(OperationGraph graph, graphOf(*session_, command));
    GRADUS_ASSIGN(
        ExecutionPlan plan,
        choosePlan(*session_, graph, workspaceIn(scratchBytes, graph)));
    return callOf(std::move(graph), std::move(plan));
  }

  StatusOr<std::unique_ptr<LibraryCall>>
  prepareWith(const std::string &algorithm,
              const artifact::LibraryCommand &command,
              uint64_t scratchBytes) override {
    GRADUS_ASSIGN(OperationGraph graph, graphOf(*session_, command));
    GRADUS_ASSIGN(ExecutionPlan plan, planOf(*session_, graph, algorithm));
    if (plan.workspace > workspaceIn(scratchBytes, graph))
      return failed("algorithm ", algorithm, " of cuDNN needs ",
                    plan.workspace + graph.scratchBytes,
                    " bytes of scratch, and there are ", scratchBytes);
    return callOf(std::move(graph), std::move(plan));
  }

  StatusOr<Algorithms> algorithms(const artifact::LibraryCommand &command,
                                  uint64_t scratchBytes) override {
    GRADUS_ASSIGN(OperationGraph graph, graphOf(*session_, command));
    GRADUS_ASSIGN(
        std::vector<std::string> texts,
        algorithmsOf(*session_, graph, workspaceIn(scratchBytes, graph)));
    return Algorithms{session_->name(), std::move(texts)};
  }

  bool warmsUp() const override { return true; }

private:
  std::unique_ptr<LibraryCall> callOf(OperationGraph graph,
                                      ExecutionPlan plan) {
    return std::make_unique<GraphCall>(session_, std::move(graph),
                                       std::move(plan));
  }

  std::shared_ptr<Session> session_;
};

} // namespace

} // namespace cudnn

std::unique_ptr<LibraryServer>
serveCudnn(std::shared_ptr<cudnn::Session> session) {
  return std::make_unique<cudnn::GraphServer>(std::move(session));
}

} // namespace gradus::runtime::cuda
