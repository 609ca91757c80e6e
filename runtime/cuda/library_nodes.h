// The library commands of a plan as nodes of graphs: prepared once, and
// captured for each graph.
#pragma once

#include "runtime/cuda/driver/step_memory.h"
#include "runtime/cuda/graph.h"
#include "runtime/cuda/libraries/library_call.h"
#include "runtime/cuda/libraries/library_tensor.h"
#include "runtime/device/device.h"

#include <map>
#include <optional>
#include <unordered_map>

namespace gradus::runtime::cuda {

/// Whether a plan has library commands.
bool hasLibraryCommands(const artifact::Plan &plan);

/// Calls `visit` for each command, with "command 3 (matmul)"; stops at a
/// failure.
Status forEachLibraryCommand(
    const artifact::Plan &plan,
    const std::function<Status(const artifact::LibraryCommand &command,
                               const std::string &where)> &visit);

/// The bytes of a command's scratch in its plan that remain after alignment.
uint64_t scratchInPlan(const artifact::Plan &plan,
                       const artifact::LibraryCommand &command);

/// The launch of a plan's kernel after a plain matmul: its arguments are the
/// matmul, then the command's other inputs and outputs.
struct EpilogueLaunch {
  uint32_t kernel = 0;
  std::vector<DevicePointer> arguments;
  std::vector<uint32_t> elementBytes; // of each
};

class LibraryNodes {
public:
  /// All arguments must outlive this; `server` may be null if there are no
  /// library commands.
  LibraryNodes(const artifact::Plan &plan, const artifact::CodeHeader &kernels,
               LibraryServer *server)
      : plan_(plan), kernels_(kernels), server_(server) {}

  /// Prepares all commands before memory is allocated; those that differ only
  /// in buffers share a call. If the library has no algorithm for a matmul with
  /// its epilogue, that becomes plain calls (plain_product.h).
  Status prepare();
  /// The size of the block for calls that need more than the plan's scratch.
  uint64_t scratchBytes() const { return scratchBytes_; }
  /// The size of the block with ones for sums.
  uint64_t onesBytes() const;
  /// The size of the block for a matmul that a kernel reads.
  uint64_t productBytes() const { return productBytes_; }
  /// The forms of the calls, without duplicates, in the order of the plan.
  std::vector<CallForm> forms() const;
  /// Describes the calls: "5 different calls of libraries, 3 by the algorithm
  /// that the artifact has for NVIDIA H200, 1 with scratch beside the plan's
  /// (196.0 MiB)", and a line for each kind of plain matmul: "matmul+sum: plain
  /// call and a product with ones, 12 calls (cuBLASLt has no algorithm with
  /// BGRADB)". Empty without calls.
  std::vector<std::string> inWordsFor(const std::string &card) const;

  /// Writes ones, and runs each call once on arbitrary data if its server asks
  /// for that.
  Status warmUp(const Driver &driver, Stream stream, const StepMemory &memory);
  /// The nodes of a prepared command, in the order in which they run.
  std::vector<Node> nodesOf(const artifact::LibraryCommand &command,
                            const StepMemory &memory) const;
  /// The kernel that runs after them; nothing if they are the whole command.
  std::optional<EpilogueLaunch>
  epilogueOf(const artifact::LibraryCommand &command,
             const StepMemory &memory) const;
  /// The kernels that epilogueOf refers to.
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
    std::string lack; // why it is plain; empty: it is whole

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
  /// The offset in the block of ones.
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
