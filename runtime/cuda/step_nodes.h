// The commands of a plan as nodes of a graph: which kernel on which addresses,
// with how many blocks, and the tables that flat kernels read.
#pragma once

#include "runtime/cuda/library_nodes.h"

namespace gradus::runtime::cuda {

/// How a kernel is launched, as its emitter says (codegen/gpu_emitter.h).
struct KernelFacts {
  Function function = nullptr;
  uint32_t threads = 0;    // of a block
  uint64_t mostBlocks = 0; // 0: flat, as many as there are pieces
  uint64_t piece = 0;      // items of one, if flat
  /// Bytes of the arguments behind the buffers, all blocks together.
  std::vector<uint64_t> scratch;
  uint32_t residentBlocks = 1; // that the card has at once
};

/// What is taken beyond what the plan says.
struct StepExtras {
  uint64_t scratchBytes = 0;
  uint64_t tableBytes = 0;
  uint64_t libraryBytes = 0; // scratch of library commands
  uint64_t onesBytes = 0;    // that library commands multiply by
  uint64_t productBytes = 0; // that kernels behind library commands read
};

class StepNodes {
public:
  /// `kernels` as the plan numbers them. All arguments outlive this. `library`
  /// serves library commands; null where there are none.
  StepNodes(const Card &card, const artifact::Plan &plan,
            const artifact::CodeHeader &header,
            std::span<const KernelFacts> kernels, LibraryServer *library)
      : card_(card), plan_(plan), header_(header), kernels_(kernels),
        library_(plan, header, library) {}

  /// Makes library commands ready; before all else.
  Status prepare() { return library_.prepare(); }
  StepExtras extras() const;
  /// Which library commands there are, once they are ready.
  std::vector<std::string> librariesInWords() const {
    return library_.inWordsFor(card_.name());
  }
  /// Before nodes are asked for.
  void place(const StepMemory &memory) { memory_ = memory; }
  /// What must run once before nodes are asked for. It may write to all memory
  /// of the plan.
  Status warmUp(Stream stream) {
    return library_.warmUp(card_.driver(), stream, memory_);
  }

  /// Of command i of a graph; none where it has nothing to do.
  StatusOr<std::vector<Node>> nodesOf(const artifact::GraphPlan &graph,
                                      size_t command);
  /// What lies at `tables`, once all nodes were asked for.
  const std::vector<int64_t> &tables() const { return tables_; }

  DevicePointer addressOf(uint32_t buffer) const;
  /// As many bytes of a buffer as its type has.
  Access accessTo(uint32_t buffer, bool writes) const;

private:
  /// Adds the nodes of a command of each kind (runtime/commands.def).
  Status addNodes(const artifact::KernelCommand &command,
                  std::vector<Node> &nodes);
  Status addNodes(const artifact::LibraryCommand &command,
                  std::vector<Node> &nodes);
  Status addNodes(const artifact::CopyCommand &command,
                  std::vector<Node> &nodes);
  Node kernelNode(const artifact::KernelCommand &command);
  Node epilogueNode(const EpilogueLaunch &launch) const;
  void addRows(const artifact::KernelCommand &command, KernelNode &node);
  void addScratch(const KernelFacts &facts, Node &node) const;

  const Card &card_;
  const artifact::Plan &plan_;
  const artifact::CodeHeader &header_;
  std::span<const KernelFacts> kernels_;
  LibraryNodes library_;
  StepMemory memory_;
  std::vector<int64_t> tables_;
};

} // namespace gradus::runtime::cuda
