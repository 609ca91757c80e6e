// Modules and graphs of the emulated GPU; for capture see fake_capture.cpp.

#include "runtime/emulated/fake_state.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace gradus::runtime::cuda {

//===-- code --------------------------------------------------------------===//

/// Loads an image; a cubin or PTX is for other devices.
Result FakeState::moduleLoad(Module *module, const void *image, unsigned,
                             JitOption *, void **) {
  if (std::memcmp(image,
                  "\x7f"
                  "ELF",
                  4) == 0 ||
      std::memcmp(image, "//", 2) == 0)
    return Result::noBinaryForGpu;
  auto read = readImage(image);
  if (!read.ok())
    return Result::invalidImage;
  auto loaded = std::make_shared<FakeModule>();
  auto code = loadCode(read->code);
  if (!code.ok())
    return refuse(Result::outOfMemory, code.status().message());
  loaded->code = *std::move(code);
  loaded->functions = read->functions;
  *module = objects_.modules.add(loaded);
  return Result::success;
}

Result FakeState::moduleUnload(Module module) {
  if (!objects_.modules.remove(module))
    return refuse(Result::invalidHandle, "there is no such module");
  objects_.functions.removeIf(
      [&](const FakeFunction &each) { return each.handle == module; });
  return Result::success;
}

Result FakeState::moduleFunction(Function *function, Module module,
                                 const char *name) {
  auto found = objects_.modules.find(module);
  if (!found)
    return refuse(Result::invalidHandle, "there is no such module");
  for (const EmulatedFunction &facts : found->functions)
    if (facts.name == name) {
      *function = objects_.functions.add(
          std::make_shared<FakeFunction>(FakeFunction{found, module, facts}));
      return Result::success;
    }
  return Result::notFound;
}

/// Limits resident blocks by threads alone: registers and shared memory are not
/// emulated.
constexpr int kThreadsOfMultiprocessor = 2048;
Result FakeState::residentBlocks(int *blocks, Function function, int threads,
                                 size_t) {
  if (!objects_.functions.find(function))
    return refuse(Result::invalidHandle, "there is no such function");
  if (threads < 1)
    return refuse(Result::invalidValue, "blocks of ", threads, " threads");
  *blocks = std::min(kThreadsOfMultiprocessor / threads, 32);
  return Result::success;
}

//===-- building graphs ---------------------------------------------------===//

Result FakeState::graphCreate(Graph *graph, unsigned) {
  *graph = objects_.graphs.add(std::make_shared<FakeGraph>());
  return Result::success;
}

Result FakeState::graphDestroy(Graph graph) {
  auto found = objects_.graphs.find(graph);
  if (!found)
    return refuse(Result::invalidHandle, "there is no such graph");
  for (GraphNode node : found->handles)
    objects_.nodes.remove(node);
  objects_.graphs.remove(graph);
  return Result::success;
}

Result FakeState::addNode(GraphNode *added, Graph graph, const GraphNode *after,
                          size_t count, std::shared_ptr<FakeNode> node) {
  auto found = objects_.graphs.find(graph);
  if (!found)
    return refuse(Result::invalidHandle, "there is no such graph");
  const auto &handles = found->handles;
  for (size_t i = 0; i < count; ++i) {
    auto at = std::find(handles.begin(), handles.end(), after[i]);
    if (at == handles.end())
      return refuse(Result::invalidValue,
                    "comes after a node of another graph");
    node->after.push_back(uint32_t(at - handles.begin()));
  }
  node->op.name = inWords("node ", handles.size(), " (", node->op.name, ")");
  *added = objects_.nodes.add(node);
  found->nodes.push_back(std::move(node));
  found->handles.push_back(*added);
  return Result::success;
}

/// Returns the number of nodes, but not the nodes.
Result FakeState::graphNodes(Graph graph, GraphNode *nodes, size_t *count) {
  auto found = objects_.graphs.find(graph);
  if (!found)
    return refuse(Result::invalidHandle, "there is no such graph");
  if (nodes)
    return refuse(Result::invalidValue, "which nodes there are is not told");
  *count = found->nodes.size();
  return Result::success;
}

Result FakeState::graphAddKernel(GraphNode *added, Graph graph,
                                 const GraphNode *after, size_t count,
                                 const KernelParams *params) {
  auto function = objects_.functions.find(params->function);
  if (!function)
    return refuse(Result::invalidHandle, "the kernel's code was unloaded");
  const EmulatedFunction &facts = function->facts;
  uint64_t threads = uint64_t(params->blockX) * params->blockY * params->blockZ;
  if (threads > facts.threads || threads == 0)
    return refuse(Result::launchOutOfResources, "kernel ", facts.name, " has ",
                  threads, " threads a block, and is made for ", facts.threads);
  if (params->gridX == 0 || params->gridY != 1 || params->gridZ != 1)
    return refuse(Result::invalidValue, "kernel ", facts.name,
                  " is not launched along one dimension");
  auto node = std::make_shared<FakeNode>();
  node->op.name = "kernel " + facts.name;
  node->function = params->function;
  node->kernel = std::make_shared<FakeLaunch>();
  emulated::Launch &launch = node->kernel->launch;
  launch.name = facts.name;
  launch.entry = std::bit_cast<emulated::Entry>(
      reinterpret_cast<uintptr_t>(function->module->code.data() + facts.entry));
  launch.threads = int64_t(threads);
  launch.blocks = params->gridX;
  launch.shared = int64_t(facts.shared) + params->sharedBytes;
  for (uint64_t i = 0; i < facts.arguments; ++i)
    launch.arguments.push_back(*static_cast<void **>(params->arguments[i]));
  return addNode(added, graph, after, count, std::move(node));
}

Result FakeState::graphAddCopy(GraphNode *added, Graph graph,
                               const GraphNode *after, size_t count,
                               const CopyParams *params, Context) {
  if (params->height != 1 || params->depth != 1 ||
      params->fromType != MemoryType::unified ||
      params->toType != MemoryType::unified)
    return refuse(Result::invalidValue, "only lines of bytes are emulated");
  constexpr size_t kMostPitch = INT_MAX;
  if (std::max(params->fromPitch, params->toPitch) > kMostPitch)
    return refuse(Result::invalidValue, "lines are ", params->fromPitch,
                  " and ", params->toPitch, " bytes apart");
  DevicePointer from = params->fromDevice + params->fromX,
                to = params->toDevice + params->toX;
  size_t bytes = params->width;
  auto node = std::make_shared<FakeNode>();
  node->op.name = inWords("copy of ", bytes, " bytes");
  node->op.accesses = {accessTo(from, bytes, false), accessTo(to, bytes, true)};
  node->op.run = [this, op = node.get(), to, from, bytes] {
    return runCopy(op->op, to, from, bytes);
  };
  node->isCopy = true;
  return addNode(added, graph, after, count, std::move(node));
}

Result FakeState::graphAddFill(GraphNode *added, Graph graph,
                               const GraphNode *after, size_t count,
                               const FillParams *params, Context) {
  if (params->height != 1 || params->elementBytes != 1)
    return refuse(Result::invalidValue, "only lines of bytes are emulated");
  DevicePointer to = params->to;
  size_t bytes = params->width;
  auto node = std::make_shared<FakeNode>();
  node->op.name = inWords("fill of ", bytes, " bytes");
  node->op.accesses = {accessTo(to, bytes, true)};
  node->op.run = [this, op = node.get(), to, bytes,
                  value = uint8_t(params->value)] {
    return runFill(op->op, to, value, bytes);
  };
  node->isCopy = true;
  return addNode(added, graph, after, count, std::move(node));
}

Result FakeState::graphAddRecord(GraphNode *added, Graph graph,
                                 const GraphNode *after, size_t count,
                                 Event event) {
  auto node = std::make_shared<FakeNode>();
  node->op.name = "record of an event";
  node->recorded = objects_.events.find(event);
  if (!node->recorded)
    return refuse(Result::invalidHandle, "there is no such event");
  return addNode(added, graph, after, count, std::move(node));
}

Result FakeState::declareAccesses(GraphNode node, const char *name,
                                  const Access *accesses, size_t count) {
  auto found = objects_.nodes.find(node);
  if (!found)
    return refuse(Result::invalidHandle, "there is no such node");
  if (found->isCopy)
    return refuse(Result::invalidValue, "a copy says itself what it touches");
  if (found->recorded) // it accesses no memory
    return Result::success;
  found->op.accesses.assign(accesses, accesses + count);
  found->declared = true;
  if (!found->child.empty()) {
    append(found->op.name, " of ", name);
    return checkChild(*found);
  }
  if (found->kernel) {
    found->kernel->accesses = found->op.accesses;
    found->kernel->declared = true;
  }
  return Result::success;
}

//===-- running graphs ----------------------------------------------------===//

Result FakeState::checkNode(const FakeNode &node) {
  if (node.kernel && !objects_.functions.find(node.function))
    return refuse(Result::invalidHandle, node.op.name,
                  ": its code was unloaded");
  for (const auto &inner : node.child)
    if (Result result = checkNode(*inner); result != Result::success)
      return result;
  return checkBytes(node.op, /*readsAll=*/false);
}

Result FakeState::graphInstantiate(GraphExec *exec, Graph graph,
                                   unsigned long long) {
  auto found = objects_.graphs.find(graph);
  if (!found)
    return refuse(Result::invalidHandle, "there is no such graph");
  std::vector<const FakeOp *> ops;
  std::vector<std::vector<uint32_t>> after;
  for (const auto &node : found->nodes) {
    if (Result result = checkNode(*node); result != Result::success)
      return result;
    ops.push_back(&node->op);
    after.push_back(node->after);
  }
  if (std::string wrong = unorderedPair(ops, after); !wrong.empty())
    return refuse(Result::invalidValue, wrong);
  auto made = std::make_shared<FakeExec>();
  made->nodes = found->nodes;
  *exec = objects_.execs.add(made);
  return Result::success;
}

Result FakeState::execDestroy(GraphExec exec) {
  auto found = objects_.execs.find(exec);
  if (!found)
    return refuse(Result::invalidHandle, "there is no such executable graph");
  objects_.execs.remove(exec); // work that it started continues
  return Result::success;
}

Result FakeState::graphUpload(GraphExec exec, Stream stream) {
  if (objects_.execs.find(exec) && objects_.streams.find(stream))
    return Result::success;
  return refuse(Result::invalidHandle, "there is no such executable graph");
}

Result FakeState::runNode(const FakeNode &node) {
  if (node.kernel)
    return runKernelNode(node);
  if (!node.child.empty())
    return runChild(node);
  return node.op.run ? node.op.run() : Result::success;
}

Result FakeState::runKernelNode(const FakeNode &node) {
  note(node.op);
  if (Result result = checkNode(node); result != Result::success)
    return result;
  node.kernel->launch.seed = work_.random();
  int64_t operations = 0;
  Status status = runKernel(*node.kernel, memory_, operations);
  work_.count(operations);
  return status.ok() ? Result::success
                     : fault(Result::illegalAddress, status.message());
}

/// Launches a graph. Launches of one executable graph do not overlap; its nodes
/// start after `start`.
Result FakeState::graphLaunch(GraphExec exec, Stream stream) {
  auto found = objects_.execs.find(exec);
  auto on = objects_.streams.find(stream);
  if (!found || !on)
    return refuse(Result::invalidHandle, "there is no such ",
                  found ? "stream" : "executable graph");
  if (Result result = checkNotRecording(stream); result != Result::success)
    return result;
  FakeOp start;
  start.name = "the start of a graph";
  if (found->last)
    start.after = {found->last};
  FakeOpRef first = behind(on, std::move(start));
  if (Result result = add(first); result != Result::success)
    return result;
  bool fails = launched_++ == options_.lostAt;
  std::vector<FakeOpRef> ops;
  found->last = beginNodes(*found, first, ops);
  if (fails && !ops.empty())
    ops[work_.random() % ops.size()]->run = [this] { return options_.lostAs; };
  for (const FakeOpRef &op : ops)
    if (Result result = add(op); result != Result::success)
      return result;
  on->last = found->last;
  return add(found->last);
}

/// Starts the nodes; returns the op after all of them.
FakeOpRef FakeState::beginNodes(const FakeExec &exec, const FakeOpRef &start,
                                std::vector<FakeOpRef> &ops) {
  auto end = std::make_shared<FakeOp>();
  end->name = "the end of a graph";
  end->after = {start};
  for (const auto &node : exec.nodes) {
    auto op = std::make_shared<FakeOp>(node->op);
    op->launch = uint64_t(launched_);
    op->after = {start};
    for (uint32_t before : node->after)
      op->after.push_back(ops[before]);
    op->run = [this, node] { return runNode(*node); };
    if (node->recorded)
      node->recorded->recorded = op;
    end->after.push_back(op);
    ops.push_back(op);
  }
  return end;
}

} // namespace gradus::runtime::cuda
