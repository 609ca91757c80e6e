// Each node needs one driver call; `Builder` has the common parts.

#include "runtime/cuda/graph.h"

namespace gradus::runtime::cuda {

namespace {

class Builder {
public:
  Builder(const Card &card, Graph graph)
      : card_(card), driver_(card.driver()), graph_(graph) {}

  Status add(const Node &node, const std::vector<uint32_t> &before) {
    after_.clear();
    after_.reserve(before.size());
    for (uint32_t each : before)
      after_.push_back(nodes_[each]);
    size_t executed = 1;
    if (auto *capture = std::get_if<CaptureNode>(&node.work))
      GRADUS_TRY(at(record(*capture, executed),
                    "adding " + node.name + " to a graph"));
    executed_ += executed;
    GraphNode added = nullptr;
    Result result = std::visit(
        [&](const auto &work) { return addWork(work, &added); }, node.work);
    nodes_.push_back(added);
    if (result == Result::success && driver_.declareAccesses &&
        !node.accesses.empty())
      result = driver_.declareAccesses(
          added, node.name.c_str(), node.accesses.data(), node.accesses.size());
    return check(driver_, result, "adding " + node.name + " to a graph");
  }

  /// The number of nodes, including those of captured calls.
  size_t executed() const { return executed_; }

private:
  Result addWork(const KernelNode &work, GraphNode *added) {
    std::vector<uint64_t> values = work.arguments;
    std::vector<void *> arguments;
    arguments.reserve(values.size());
    for (uint64_t &value : values)
      arguments.push_back(&value);
    KernelParams params = {};
    params.function = work.function;
    params.gridX = work.blocks;
    params.blockX = work.threads;
    params.gridY = params.gridZ = params.blockY = params.blockZ = 1;
    params.sharedBytes = work.sharedBytes;
    params.arguments = arguments.data();
    return driver_.graphAddKernel(added, graph_, after_.data(), after_.size(),
                                  &params);
  }

  Result addWork(const CopyNode &work, GraphNode *added) {
    CopyParams params = {};
    params.fromType = params.toType = MemoryType::unified;
    params.fromDevice = work.from;
    params.toDevice = work.to;
    // A 1-D copy: a pitch would be limited to 2 GiB.
    params.width = work.bytes;
    params.height = params.depth = 1;
    return driver_.graphAddCopy(added, graph_, after_.data(), after_.size(),
                                &params, card_.context());
  }

  Result addWork(const FillNode &work, GraphNode *added) {
    FillParams params = {work.to, work.bytes, work.value, 1, work.bytes, 1};
    return driver_.graphAddFill(added, graph_, after_.data(), after_.size(),
                                &params, card_.context());
  }

  Result addWork(const CaptureNode &, GraphNode *added) {
    return driver_.graphAddChild(added, graph_, after_.data(), after_.size(),
                                 recorded_.get());
  }

  Result addWork(const RecordNode &work, GraphNode *added) {
    return driver_.graphAddRecord(added, graph_, after_.data(), after_.size(),
                                  work.event);
  }

  /// Captures the work of a node as a graph; counts its nodes.
  Status record(const CaptureNode &work, size_t &nodes) {
    if (!stream_) {
      GRADUS_ASSIGN(stream_, card_.createStream());
    }
    GRADUS_TRY(check(
        driver_, driver_.captureBegin(stream_.get(), CaptureMode::threadLocal),
        "recording"));
    Status begun = work.begin(stream_.get());
    Graph graph = nullptr;
    Result ended = driver_.captureEnd(stream_.get(), &graph);
    if (work.end)
      work.end();
    recorded_ = Owned<Graph>(graph, driver_.graphDestroy);
    GRADUS_TRY(begun);
    GRADUS_TRY(check(driver_, ended, "recording"));
    return check(driver_, driver_.graphNodes(graph, nullptr, &nodes),
                 "counting what was recorded");
  }

  const Card &card_;
  const Driver &driver_;
  Graph graph_;
  std::vector<GraphNode> nodes_, after_;
  Owned<Stream> stream_;  // for captures
  Owned<Graph> recorded_; // the last captured graph
  size_t executed_ = 0;
};

} // namespace

std::vector<Access> accessesOf(const Node &node) {
  if (auto *copy = std::get_if<CopyNode>(&node.work))
    return {{copy->from, copy->bytes, 1, false},
            {copy->to, copy->bytes, 1, true}};
  if (auto *fill = std::get_if<FillNode>(&node.work))
    return {{fill->to, fill->bytes, 1, true}};
  return node.accesses;
}

StatusOr<StepGraph> StepGraph::build(const Card &card,
                                     std::span<const Node> nodes, Order order) {
  if (order == Order::chain)
    return build(card, nodes, chainOf(nodes.size()));
  std::vector<std::vector<Access>> accesses;
  for (const Node &node : nodes)
    accesses.push_back(accessesOf(node));
  return build(card, nodes, orderByBytes(accesses));
}

StatusOr<StepGraph> StepGraph::build(const Card &card,
                                     std::span<const Node> nodes,
                                     const Edges &edges) {
  const Driver &driver = card.driver();
  Graph graph = nullptr;
  GRADUS_TRY(check(driver, driver.graphCreate(&graph, 0), "making a graph"));
  Owned<Graph> owned(graph, driver.graphDestroy);
  StepGraph step(card);
  Builder builder(card, graph);
  for (size_t i = 0; i < nodes.size(); ++i) {
    GRADUS_TRY(builder.add(nodes[i], edges[i]));
    step.edges_ += edges[i].size();
  }
  GraphExec exec = nullptr;
  GRADUS_TRY(check(driver, driver.graphInstantiate(&exec, graph, 0),
                   inWords("making a graph of ", nodes.size(), " nodes")));
  step.exec_ = Owned<GraphExec>(exec, driver.execDestroy);
  step.nodes_ = builder.executed();
  return step;
}

Status StepGraph::upload(Stream stream) const {
  return check(card_->driver(),
               card_->driver().graphUpload(exec_.get(), stream),
               "sending a graph to " + card_->name());
}

Status StepGraph::launch(Stream stream) const {
  return check(card_->driver(),
               card_->driver().graphLaunch(exec_.get(), stream),
               "launching a graph on " + card_->name());
}

} // namespace gradus::runtime::cuda
