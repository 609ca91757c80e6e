// The library commands of a plan as nodes of graphs: made ready once, and
// recorded for each graph.
#pragma once

#include "runtime/cuda/graph.h"
#include "runtime/cuda/library_call.h"
#include "runtime/cuda/library_tensor.h"
#include "runtime/cuda/step_memory.h"

#include <unordered_map>

namespace gradus::runtime::cuda {

/// Whether somebody must serve them.
bool hasLibraryCommands(const artifact::Plan &plan);

/// Calls `visit` for each, with "command 3 (matmul)"; its failure ends this.
Status forEachLibraryCommand(
    const artifact::Plan &plan,
    const std::function<Status(const artifact::LibraryCommand &command,
                               const std::string &where)> &visit);

/// Bytes of a command's scratch in its plan that a library takes, as it wants
/// another start.
uint64_t scratchInPlan(const artifact::Plan &plan,
                       const artifact::LibraryCommand &command);

class LibraryNodes {
public:
  /// All arguments outlive this; no server is needed where there are no
  /// library commands.
  LibraryNodes(const artifact::Plan &plan, LibraryServer *server)
      : plan_(plan), server_(server) {}

  /// Makes all ready, before memory is taken; what is alike but for its buffers
  /// once.
  Status prepare();
  /// Of a block that calls share for which the plan's scratch is too small.
  uint64_t scratchBytes() const { return scratchBytes_; }
  /// "5 different calls of libraries, 3 by the algorithm that the artifact has
  /// for NVIDIA H200"; empty where there are none.
  std::string inWordsFor(const std::string &card) const;

  /// Runs each call once on whatever memory holds, where its server asks for
  /// that.
  Status warmUp(const Driver &driver, Stream stream, const StepMemory &memory);
  /// Of a command that is ready.
  Node nodeOf(const artifact::LibraryCommand &command,
              const StepMemory &memory) const;

private:
  struct Call {
    std::shared_ptr<LibraryCall> call;
    Tensors inputs, outputs;
    bool takesPlansScratch = false;
  };

  Status prepare(const artifact::LibraryCommand &command);
  StatusOr<std::shared_ptr<LibraryCall>>
  callFor(const artifact::LibraryCommand &command, uint64_t scratchBytes);
  CallAddresses addressesOf(const artifact::LibraryCommand &command,
                            const StepMemory &memory) const;
  const artifact::Buffer &buffer(uint32_t number) const {
    return *plan_.buffers()->Get(number);
  }

  const artifact::Plan &plan_;
  LibraryServer *server_;
  std::unordered_map<const artifact::LibraryCommand *, Call> calls_;
  std::unordered_map<std::string, std::shared_ptr<LibraryCall>> alike_;
  uint64_t scratchBytes_ = 0;
};

} // namespace gradus::runtime::cuda
