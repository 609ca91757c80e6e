// The library commands of a plan as nodes of graphs: made ready once, and
// recorded for each graph.
#pragma once

#include "runtime/cuda/graph.h"
#include "runtime/cuda/library_call.h"
#include "runtime/cuda/library_tensor.h"
#include "runtime/cuda/step_memory.h"
#include "runtime/device.h"

#include <map>
#include <optional>
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

/// A kernel of the plan behind a product, in its numbers: the product, then
/// what its command reads besides and writes.
struct EpilogueLaunch {
  uint32_t kernel = 0;
  std::vector<DevicePointer> arguments;
  std::vector<uint32_t> elementBytes; // of each
};

class LibraryNodes {
public:
  /// All arguments outlive this; no server is needed where there are no
  /// library commands.
  LibraryNodes(const artifact::Plan &plan, const artifact::CodeHeader &kernels,
               LibraryServer *server)
      : plan_(plan), kernels_(kernels), server_(server) {}

  /// Makes all ready, before memory is taken; what is alike but for its buffers
  /// once. A product whose library has no algorithm for what goes with it
  /// becomes plain calls (plain_product.h).
  Status prepare();
  /// Of a block that calls share for which the plan's scratch is too small.
  uint64_t scratchBytes() const { return scratchBytes_; }
  /// Of a block with the ones that sums multiply.
  uint64_t onesBytes() const;
  /// The bytes of a block for a product that a kernel reads.
  uint64_t productBytes() const { return productBytes_; }
  /// The forms of the calls, each kind once, in the order of the plan.
  std::vector<CallForm> forms() const;
  /// "5 different calls of libraries, 3 by the algorithm that the artifact has
  /// for NVIDIA H200, 1 with scratch beside the plan's (196.0 MiB)", and a line
  /// for each kind of product that is plain: "matmul+sum: plain call and a
  /// product with ones, 12 calls (cuBLASLt has no algorithm with BGRADB)". None
  /// where there are no calls.
  std::vector<std::string> inWordsFor(const std::string &card) const;

  /// Writes ones, and runs each call once on whatever memory holds where its
  /// server asks for that.
  Status warmUp(const Driver &driver, Stream stream, const StepMemory &memory);
  /// Of a command that is ready, in the order in which they run.
  std::vector<Node> nodesOf(const artifact::LibraryCommand &command,
                            const StepMemory &memory) const;
  /// The kernel that runs behind them; null where they are the whole command.
  std::optional<EpilogueLaunch>
  epilogueOf(const artifact::LibraryCommand &command,
             const StepMemory &memory) const;
  /// The kernels that epilogueOf names.
  std::vector<uint32_t> epilogueKernels() const;

private:
  struct Call {
    const artifact::LibraryCommand *command; // or a part of one
    std::shared_ptr<LibraryCall> call;
    Tensors inputs, outputs;
    bool takesPlansScratch = false;
  };
  struct Command {
    std::vector<Call> calls;
    std::string lack; // what makes it plain; empty: it is whole

    bool isWhole() const { return lack.empty(); }
  };

  Status prepare(const artifact::LibraryCommand &command);
  Status preparePlain(const artifact::LibraryCommand &command, Command &made);
  Status addCall(const artifact::LibraryCommand &command,
                 std::shared_ptr<LibraryCall> call, uint64_t has,
                 Command &made);
  StatusOr<std::shared_ptr<LibraryCall>>
  callFor(const artifact::LibraryCommand &command, uint64_t scratchBytes);
  bool runsKernel(const artifact::LibraryCommand &command) const;
  Status writeOnes(const Driver &driver, Stream stream,
                   const StepMemory &memory) const;
  /// Behind the start of the block.
  uint64_t offsetOfOnes(artifact::DType dtype) const;
  DevicePointer addressOf(const artifact::LibraryTensor &tensor,
                          const StepMemory &memory) const;
  CallAddresses addressesOf(const Call &call, const StepMemory &memory) const;
  Node nodeOf(const Call &call, const StepMemory &memory) const;

  const artifact::Plan &plan_;
  const artifact::CodeHeader &kernels_;
  LibraryServer *server_;
  std::unordered_map<const artifact::LibraryCommand *, Command> commands_;
  std::unordered_map<std::string, std::shared_ptr<LibraryCall>> alike_;
  std::vector<flatbuffers::DetachedBuffer> parts_; // commands of plain calls
  uint64_t scratchBytes_ = 0, productBytes_ = 0;
  std::map<artifact::DType, uint64_t> ones_; // bytes of each type's
};

} // namespace gradus::runtime::cuda
