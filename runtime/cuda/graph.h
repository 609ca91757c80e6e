// The commands of a step as one CUDA graph, which one call launches.
//
// A node says what it does and which bytes it accesses. Nodes are given in an
// order in which they may run one after another; edges follow from it, either
// for all neighbours or only for conflicting accesses (node_order.h).
#pragma once

#include "runtime/cuda/card.h"
#include "runtime/cuda/node_order.h"

#include <functional>
#include <variant>

namespace gradus::runtime::cuda {

/// A 1-D launch of a kernel. Arguments are addresses and 64-bit integers, the
/// only ones of our kernels.
struct KernelNode {
  Function function = nullptr;
  uint32_t blocks = 1, threads = 1;
  uint32_t sharedBytes = 0; // in addition to the kernel's static memory
  std::vector<uint64_t> arguments;
};

/// A copy between addresses of the GPU or of pinned memory.
struct CopyNode {
  DevicePointer from = 0, to = 0;
  uint64_t bytes = 0;
};

struct FillNode {
  DevicePointer to = 0;
  uint64_t bytes = 0;
  uint8_t value = 0;
};

/// Work that is enqueued on a capturing stream: a library call. It becomes a
/// child graph, captured anew for each graph.
struct CaptureNode {
  std::function<Status(Stream)> begin;
  /// Called after the capture, before the stream is destroyed; may be empty.
  std::function<void()> end = {};
};

/// Records an event for other streams to wait for.
struct RecordNode {
  Event event = nullptr;
};

struct Node {
  std::string name; // for errors
  std::variant<KernelNode, CopyNode, FillNode, CaptureNode, RecordNode> work;
  /// All bytes that kernels and captured work access; for an event record, the
  /// bytes to wait for, as if it wrote them. Copies and fills imply theirs.
  std::vector<Access> accesses;
};

enum class Order { chain, bytes };

class StepGraph {
public:
  /// Builds a graph that is ready to launch. Memory that nodes refer to must
  /// outlive it.
  static StatusOr<StepGraph> build(const Card &card,
                                   std::span<const Node> nodes, Order order);
  /// Builds a graph with the caller's edges.
  static StatusOr<StepGraph>
  build(const Card &card, std::span<const Node> nodes, const Edges &edges);

  /// Uploads the graph to the GPU, so that the first launch is as fast as later
  /// ones.
  Status upload(Stream stream) const;
  /// Launches the graph after the stream's earlier work. Faults of kernels are
  /// reported when the host waits.
  Status launch(Stream stream) const;

  /// The number of nodes that a launch executes, including those of captured
  /// calls.
  size_t nodes() const { return nodes_; }
  size_t edges() const { return edges_; }

private:
  StepGraph(const Card &card) : card_(&card) {}

  const Card *card_;
  Owned<GraphExec> exec_;
  size_t nodes_ = 0, edges_ = 0;
};

/// All accesses of a node.
std::vector<Access> accessesOf(const Node &node);

} // namespace gradus::runtime::cuda
