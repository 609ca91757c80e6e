// Counts what programs are made of, and what they cost.

#include "frontends/compiler/statistics.h"

#include "codegen/plan/nest_cost.h"
#include "codegen/plan/winograd_tiles.h"
#include "ir/op_costs.h"
#include "passes/optimizers/parameter_lists.h"
#include "runtime/well_known.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatAdapters.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace mlir;

namespace gradus::compiler {

int64_t flopsOf(Operation &op) {
  if (auto nest = dyn_cast<plan::NestOp>(op))
    return costOf(nest).flops;
  if (auto launch = dyn_cast<plan::LaunchOp>(op))
    return launch.getFlops();
  if (auto library = dyn_cast<plan::LibraryOp>(op))
    return library.getFlops();
  if (auto winograd = dyn_cast<plan::WinogradOp>(op))
    return winogradSizes(winograd).productFlops();
  return graphFlops(op);
}

std::vector<OpCount> countOps(GraphOp graph) {
  std::map<std::string, OpCount> counts;
  for (Operation &op : graph.getBody().front().without_terminator()) {
    std::string name = op.getName().getStringRef().str();
    OpCount &count = counts[name];
    count.name = name;
    ++count.count;
    count.flops += flopsOf(op);
  }
  std::vector<OpCount> sorted;
  for (auto &[name, count] : counts)
    sorted.push_back(count);
  std::sort(
      sorted.begin(), sorted.end(), [](const OpCount &a, const OpCount &b) {
        return std::tuple(-a.flops, a.name) < std::tuple(-b.flops, b.name);
      });
  return sorted;
}

static std::string portText(StringRef name, Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << name << " ";
  auto tensor = cast<RankedTensorType>(type);
  for (int64_t size : tensor.getShape())
    stream << size << "x";
  stream << tensor.getElementType();
  return text;
}

static std::vector<GroupInfo> groupsOf(ProgramOp program) {
  std::vector<GroupInfo> groups;
  for (const ParameterList &list : parameterLists(program)) {
    GroupInfo &group = groups.emplace_back();
    group.name = list.name;
    for (StateOp parameter : list.parameters) {
      group.parameters.push_back(parameter.getSymName().str());
      group.elements +=
          cast<RankedTensorType>(parameter.getType()).getNumElements();
    }
  }
  return groups;
}

ModelInfo modelInfo(ProgramOp program) {
  ModelInfo info;
  info.groups = groupsOf(program);
  for (StateOp state : program.getBody().getOps<StateOp>())
    if (state.getRole() == Role::parameter) {
      ++info.parameterCount;
      info.parameterElements +=
          cast<RankedTensorType>(state.getType()).getNumElements();
    }
  GraphOp graph = program.getGraph(well_known::kPredict);
  if (!graph)
    return info;
  for (auto [i, type] : llvm::enumerate(graph.getArgumentTypes()))
    info.inputs.push_back(portText(graph.getInputName(i), type));
  for (auto [i, type] : llvm::enumerate(graph.getResultTypes()))
    info.outputs.push_back(portText(graph.getOutputName(i), type));
  info.ops = countOps(graph);
  for (const OpCount &op : info.ops)
    info.flops += op.flops;
  return info;
}

static int64_t bytesOfTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getElementType().isIntOrFloat())
    return 0;
  return tensor.getNumElements() *
         llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

GraphCount countGraph(GraphOp graph) {
  GraphCount count{graph.getSymName().str()};
  for (Operation &op : graph.getBody().front().without_terminator()) {
    ++count.ops;
    count.flops += flopsOf(op);
    for (Type type : op.getResultTypes())
      count.bytes += bytesOfTensor(type);
  }
  return count;
}

ProgramCount countProgram(ProgramOp program) {
  ProgramCount count;
  for (GraphOp graph : program.getBody().getOps<GraphOp>())
    count.graphs.push_back(countGraph(graph));
  for (StateOp state : program.getBody().getOps<StateOp>()) {
    count.stateBytes += bytesOfTensor(state.getType());
    if (state.getRole() != Role::parameter)
      continue;
    ++count.parameters;
    count.parameterElements +=
        cast<RankedTensorType>(state.getType()).getNumElements();
  }
  return count;
}

static void addLine(llvm::raw_ostream &out, StringRef stage,
                    const GraphCount &graph, int64_t state) {
  out << llvm::left_justify(stage, 14) << llvm::left_justify(graph.name, 10)
      << llvm::format("%8lld%16lld%14lld%14lld\n",
                      static_cast<long long>(graph.ops),
                      static_cast<long long>(graph.flops),
                      static_cast<long long>(graph.bytes),
                      static_cast<long long>(state));
}

std::string reportHeader() {
  return "stage         graph          ops            FLOP   value bytes   "
         "state bytes\n";
}

std::string reportLines(StringRef stage, ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (ProgramOp program : module.getOps<ProgramOp>()) {
    ProgramCount count = countProgram(program);
    for (const GraphCount &graph : count.graphs)
      addLine(out, stage, graph, count.stateBytes);
  }
  return text;
}

} // namespace gradus::compiler
