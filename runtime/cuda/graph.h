// The commands of a step as one CUDA graph, which one call launches.
//
// A node says what it does and which bytes it touches. Nodes are given in an
// order that is right when they run one after another; edges come from that
// order, either all of it or only where bytes are shared (node_order.h).
#pragma once

#include "runtime/cuda/card.h"
#include "runtime/cuda/node_order.h"

#include <functional>
#include <variant>

namespace gradus::runtime::cuda {

/// Of one dimension. Arguments are addresses and 64-bit integers, which is all
/// that our kernels take.
struct KernelNode {
  Function function = nullptr;
  uint32_t blocks = 1, threads = 1;
  uint32_t sharedBytes = 0; // beyond what the kernel has by itself
  std::vector<uint64_t> arguments;
};

/// Between addresses of the card or of pinned memory.
struct CopyNode {
  DevicePointer from = 0, to = 0;
  uint64_t bytes = 0;
};

struct FillNode {
  DevicePointer to = 0;
  uint64_t bytes = 0;
  uint8_t value = 0;
};

/// What somebody begins on a stream that records it: a library's call. It
/// becomes a graph within the graph, and is begun anew for each.
struct CaptureNode {
  std::function<Status(Stream)> begin;
  /// Called when the stream records no more, before it goes; may be empty.
  std::function<void()> end = {};
};

/// Other streams wait for the event.
struct RecordNode {
  Event event = nullptr;
};

struct Node {
  std::string name; // for errors
  std::variant<KernelNode, CopyNode, FillNode, CaptureNode, RecordNode> work;
  /// Of kernels and what is recorded, all that they touch; of a record, what it
  /// waits for as if it wrote it. Copies and fills say it themselves.
  std::vector<Access> accesses;
};

enum class Order { chain, bytes };

class StepGraph {
public:
  /// Ready to be launched. What nodes point to outlives the graph.
  static StatusOr<StepGraph> build(const Card &card,
                                   std::span<const Node> nodes, Order order);
  /// The same with edges of the caller's.
  static StatusOr<StepGraph>
  build(const Card &card, std::span<const Node> nodes, const Edges &edges);

  /// Has the card keep what it needs, so that the first launch is as fast as
  /// the others.
  Status upload(Stream stream) const;
  /// Begins to run it behind what the stream has to do. What a kernel does
  /// wrong shows when somebody waits.
  Status launch(Stream stream) const;

  /// The number of nodes that a launch executes, including those of recorded
  /// calls.
  size_t nodes() const { return nodes_; }
  size_t edges() const { return edges_; }

private:
  StepGraph(const Card &card) : card_(&card) {}

  const Card *card_;
  Owned<GraphExec> exec_;
  size_t nodes_ = 0, edges_ = 0;
};

/// All bytes that a node touches.
std::vector<Access> accessesOf(const Node &node);

} // namespace gradus::runtime::cuda
