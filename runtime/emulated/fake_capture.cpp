// Stream capture on the emulated GPU, and graphs as nodes of graphs.

#include "runtime/emulated/fake_state.h"

#include <algorithm>

namespace gradus::runtime::cuda {

//===-- recording ---------------------------------------------------------===//

Result FakeState::refuseInCapture(FakeCapture &capture,
                                  const std::string &words) {
  capture.broken = true;
  return refuse(Result::captureUnsupported, words);
}

Result FakeState::checkIdle() {
  auto recording = objects_.streams.findIf([](const FakeStream &each) {
    return each.capture && each.capture->thread == std::this_thread::get_id();
  });
  return recording ? refuseInCapture(*recording->capture,
                                     "comes while this thread records a stream")
                   : Result::success;
}

Result FakeState::checkNotRecording(Stream stream) {
  auto found = objects_.streams.find(stream);
  return found && found->capture
             ? refuseInCapture(*found->capture,
                               "is not recorded by the emulated card")
             : Result::success;
}

/// Appends a captured op, which then runs at each launch.
Result FakeState::record(FakeCapture &capture, FakeOp op) {
  auto node = std::make_shared<FakeNode>();
  node->isCopy = !op.isCall;
  node->op = std::move(op);
  return addNode(&capture.last, capture.graph, &capture.last,
                 capture.last ? 1 : 0, std::move(node));
}

/// The default stream, which has no handle, is never recorded.
Result FakeState::captureBegin(Stream stream, CaptureMode mode) {
  auto found = objects_.streams.find(stream);
  if (!found || !stream)
    return refuse(Result::invalidHandle, "there is no such stream");
  if (mode != CaptureMode::threadLocal)
    return refuse(Result::invalidValue, "mode ", int(mode), " is not emulated");
  if (found->capture)
    return refuse(Result::illegalState, "the stream records already");
  FakeCapture capture;
  capture.thread = std::this_thread::get_id();
  capture.graph = objects_.graphs.add(std::make_shared<FakeGraph>());
  found->capture = capture;
  return Result::success;
}

Result FakeState::captureEnd(Stream stream, Graph *graph) {
  *graph = nullptr;
  auto found = objects_.streams.find(stream);
  if (!found || !stream)
    return refuse(Result::invalidHandle, "there is no such stream");
  if (!found->capture)
    return refuse(Result::illegalState, "the stream records nothing");
  FakeCapture capture = *found->capture;
  if (capture.thread != std::this_thread::get_id())
    return refuse(Result::captureWrongThread, "another thread began to record");
  found->capture.reset();
  if (capture.broken) {
    graphDestroy(capture.graph);
    return refuse(Result::captureInvalidated,
                  "something came between that no graph can hold");
  }
  *graph = capture.graph;
  return Result::success;
}

//===-- graphs in graphs --------------------------------------------------===//

/// Adds a graph as a node; it accesses what its nodes do until more is
/// declared.
Result FakeState::graphAddChild(GraphNode *added, Graph graph,
                                const GraphNode *after, size_t count,
                                Graph child) {
  auto found = objects_.graphs.find(child);
  if (!found)
    return refuse(Result::invalidHandle, "there is no such graph");
  auto node = std::make_shared<FakeNode>();
  node->child = found->nodes;
  node->op.name = inWords("graph of ", found->nodes.size(),
                          found->nodes.size() == 1 ? " node" : " nodes");
  for (const auto &inner : node->child) {
    if (inner->recorded)
      return refuse(Result::invalidValue,
                    "a graph that records events is not emulated as a node");
    const auto &accesses = inner->op.accesses;
    node->op.accesses.insert(node->op.accesses.end(), accesses.begin(),
                             accesses.end());
  }
  return addNode(added, graph, after, count, std::move(node));
}

/// Checks that the accesses of the nodes are among the declared ones.
Result FakeState::checkChild(const FakeNode &node) {
  auto isDeclared = [&](const Access &access) {
    return std::any_of(node.op.accesses.begin(), node.op.accesses.end(),
                       [&](const Access &own) {
                         return own.start <= access.start &&
                                access.end() <= own.end() &&
                                (own.writes || !access.writes);
                       });
  };
  for (const auto &inner : node.child)
    for (const Access &access : inner->op.accesses)
      if (!isDeclared(access))
        return refuse(Result::invalidValue, inner->op.name,
                      access.writes ? " writes " : " reads ", access.bytes,
                      " bytes that the command does not say that it ",
                      access.writes ? "writes" : "reads");
  return Result::success;
}

/// Runs the nodes; calls may access memory as declared.
Result FakeState::runChild(const FakeNode &node) {
  note(node.op);
  if (node.declared)
    if (Result result = checkBytes(node.op, /*readsAll=*/true);
        result != Result::success)
      return result;
  bool calls = false;
  for (const auto &inner : node.child) {
    if (Result result = runNode(*inner); result != Result::success)
      return result;
    calls |= inner->op.isCall;
  }
  for (const Access &access : node.op.accesses)
    if (calls && access.writes)
      access.forEachRow([&](DevicePointer start, uint64_t bytes) {
        memory_.noteWritten(start, bytes);
      });
  return Result::success;
}

} // namespace gradus::runtime::cuda
