// The commands of a plan as nodes of a graph: kernels with their addresses and
// blocks, and the tables of flat kernels.
#pragma once

#include "runtime/cuda/library_nodes.h"

namespace gradus::runtime::cuda {

/// The launch data of a kernel (codegen/gpu/emitter.h).
struct KernelFacts {
  Function function = nullptr;
  uint32_t threads = 0;    // of a block
  uint64_t mostBlocks = 0; // 0: flat, one for each piece
  uint64_t piece = 0;      // items of one, if flat
  /// The bytes of the arguments after the buffers, for all blocks together.
  std::vector<uint64_t> scratch;
  uint32_t residentBlocks = 1; // number that the GPU runs at once
};

/// Memory in addition to the plan's.
struct StepExtras {
  uint64_t scratchBytes = 0;
  uint64_t tableBytes = 0;
  uint64_t libraryBytes = 0; // scratch of library commands
  uint64_t onesBytes = 0;    // the ones of plain_product.h
  uint64_t productBytes = 0; // matmuls that our kernels read
};

class StepNodes {
public:
  /// `kernels` are numbered as in the plan. All arguments must outlive this.
  /// `library` serves library commands; null if there are none.
  StepNodes(const Card &card, const artifact::Plan &plan,
            const artifact::CodeHeader &header,
            std::span<const KernelFacts> kernels, LibraryServer *library)
      : card_(card), plan_(plan), header_(header), kernels_(kernels),
        library_(plan, header, library) {}

  /// Prepares library commands; must be called first.
  Status prepare() { return library_.prepare(); }
  StepExtras extras() const;
  /// Describes the library commands, once they are prepared.
  std::vector<std::string> librariesInWords() const {
    return library_.inWordsFor(card_.name());
  }
  /// Must be called before nodesOf.
  void place(const StepMemory &memory) { memory_ = memory; }
  /// Runs work that must precede nodesOf. It may write to all memory of the
  /// plan.
  Status warmUp(Stream stream) {
    return library_.warmUp(card_.driver(), stream, memory_);
  }

  /// The nodes of command i of a graph; empty if it has nothing to do.
  StatusOr<std::vector<Node>> nodesOf(const artifact::GraphPlan &graph,
                                      size_t command);
  /// The contents for `tables`, once all nodes were created.
  const std::vector<int64_t> &tables() const { return tables_; }

  DevicePointer addressOf(uint32_t buffer) const;
  /// An access to all bytes of a buffer's type.
  Access accessTo(uint32_t buffer, bool writes) const;

private:
  /// Adds the nodes of a command of each kind, or fails if GPUs have none.
#define GRADUS_COMMAND(Kind, text)                                             \
  Status addNodes(const artifact::Kind##Command &command,                      \
                  std::vector<Node> &nodes);
#include "runtime/commands.def"
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
