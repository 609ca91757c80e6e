// A command becomes a graph, the graph a plan, and a call runs that on its
// tensors.

#include "runtime/cuda/cudnn.h"

#include "runtime/cuda/cudnn_attention.h"
#include "runtime/cuda/cudnn_convolution.h"
#include "runtime/cuda/cudnn_plan.h"

#include <bit>
#include <unordered_map>

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

/// What a command and all that are like it run.
struct Prepared {
  OperationGraph graph;
  ExecutionPlan plan;

  /// The graph's own tensors are in front of the engine's workspace.
  uint64_t scratchBytes() const { return graph.scratchBytes + plan.workspace; }
};

uint64_t workspaceIn(uint64_t scratchBytes, const OperationGraph &graph) {
  return scratchBytes - std::min(scratchBytes, graph.scratchBytes);
}

/// Equal for commands that differ in the buffers that they take alone. Models
/// repeat their layers, and an engine may take a second to compile.
std::string likenessOf(const artifact::LibraryCommand &command,
                       uint64_t scratchBytes) {
  artifact::LibraryCommandT same;
  command.UnPackTo(&same);
  for (auto *tensors : {&same.inputs, &same.outputs})
    for (auto &tensor : *tensors)
      tensor->buffer = 0;
  same.scratch = 0;
  same.choices.clear();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(artifact::LibraryCommand::Pack(builder, &same));
  return inWords(
      scratchBytes, ":",
      std::string_view(reinterpret_cast<char *>(builder.GetBufferPointer()),
                       builder.GetSize()));
}

class GraphCall : public LibraryCall {
public:
  GraphCall(std::shared_ptr<Session> session,
            std::shared_ptr<const Prepared> prepared)
      : session_(std::move(session)), prepared_(std::move(prepared)) {}

  uint64_t scratchBytes() const override { return prepared_->scratchBytes(); }
  std::string algorithm() const override { return prepared_->plan.algorithm; }

  Status enqueue(Stream stream, const CallAddresses &addresses) override {
    const Library &library = session_->library;
    const auto &[graph, plan] = *prepared_;
    std::vector<int64_t> ids;
    std::vector<void *> pointers;
    for (const Place &place : graph.places) {
      ids.push_back(place.id);
      pointers.push_back(pointerTo(place, addresses));
    }
    Descriptor pack(library, Kind::variantPack);
    pack.set(Attribute::packIds, ids)
        .set(Attribute::packPointers, pointers)
        .set(Attribute::packWorkspace,
             at(addresses.scratch + graph.scratchBytes));
    GRADUS_TRY(pack.finalize("addressing " + graph.what));
    GRADUS_TRY(check(library, library.setStream(session_->handle, stream),
                     "beginning " + graph.what));
    return check(library,
                 library.execute(session_->handle, plan.plan.raw(), pack.raw()),
                 "beginning " + graph.what);
  }

private:
  static void *at(DevicePointer address) {
    return std::bit_cast<void *>(address);
  }
  static void *pointerTo(const Place &place, const CallAddresses &addresses) {
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
    return const_cast<float *>(&place.number); // which is only read
  }

  std::shared_ptr<Session> session_; // goes last
  std::shared_ptr<const Prepared> prepared_;
};

class GraphServer : public LibraryServer {
public:
  explicit GraphServer(std::shared_ptr<Session> session)
      : session_(std::move(session)) {}

  StatusOr<std::unique_ptr<LibraryCall>>
  prepare(const artifact::LibraryCommand &command,
          uint64_t scratchBytes) override {
    std::weak_ptr<const Prepared> &known =
        known_[likenessOf(command, scratchBytes)];
    std::shared_ptr<const Prepared> prepared = known.lock();
    if (!prepared) {
      GRADUS_ASSIGN(OperationGraph graph, graphOf(*session_, command));
      GRADUS_ASSIGN(
          ExecutionPlan plan,
          choosePlan(*session_, graph, workspaceIn(scratchBytes, graph)));
      prepared = std::make_shared<const Prepared>(
          Prepared{std::move(graph), std::move(plan)});
      known = prepared;
    }
    return callOf(std::move(prepared));
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
    return callOf(std::make_shared<const Prepared>(
        Prepared{std::move(graph), std::move(plan)}));
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
  std::unique_ptr<LibraryCall>
  callOf(std::shared_ptr<const Prepared> prepared) {
    return std::make_unique<GraphCall>(session_, std::move(prepared));
  }

  std::shared_ptr<Session> session_;
  std::unordered_map<std::string, std::weak_ptr<const Prepared>> known_;
};

} // namespace

} // namespace cudnn

std::unique_ptr<LibraryServer>
serveCudnn(std::shared_ptr<cudnn::Session> session) {
  return std::make_unique<cudnn::GraphServer>(std::move(session));
}

} // namespace gradus::runtime::cuda
