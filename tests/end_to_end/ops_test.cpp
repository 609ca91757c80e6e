// Every differentiable op and its gradient, compiled for f32, against the
// reference evaluator on the rows of tests/ir/gradient_rows.h.

#include "../ir/gradient_rows.h"
#include "compiled.h"

using namespace mlir;
using namespace gradus;
using gradus::testing::Row;

namespace {

/// The row with its f64 tensors as f32, which is what the compiler is for. An
/// op that converts between the two keeps its types.
std::string narrowed(const char *text, bool convert) {
  std::string result = text;
  for (size_t at = 0;
       convert && (at = result.find("xf64", at)) != std::string::npos;)
    result.replace(at, 4, "xf32");
  for (size_t at = 0;
       convert && (at = result.find("<f64", at)) != std::string::npos;)
    result.replace(at, 4, "<f32");
  return result;
}

/// A program whose graph `op` returns the op's results and, given a seed, the
/// gradient of each operand.
std::string programOf(const Row &row) {
  std::string op = row.op();
  bool convert = op != "arith.extf" && op != "arith.truncf";
  auto module = gradus::testing::parseGraph(narrowed(row.inputs, convert),
                                            narrowed(row.statement, convert));
  GraphOp graph = gradus::testing::graphOf(*module);
  Operation *last = gradus::testing::lastOp(graph);
  OpBuilder builder(graph.getBody().front().getTerminator());
  SmallVector<Value> seeds(last->getNumResults());
  seeds[0] =
      graph.addInput("seed", last->getResult(0).getType(), last->getLoc());
  auto gradients = cast<Differentiable>(last).pullback(builder, seeds);
  for (auto [index, result] : llvm::enumerate(last->getResults()))
    graph.addOutput("result" + std::to_string(index), result);
  for (auto [index, gradient] : llvm::enumerate(gradients))
    if (gradient)
      graph.addOutput("gradient" + std::to_string(index), gradient);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

class Ops : public ::testing::TestWithParam<Row> {};

} // namespace

TEST_P(Ops, ComputeWhatTheEvaluatorComputes) {
  std::string text = programOf(GetParam());
  SCOPED_TRACE(text);
  ModuleText module(text);
  GraphOp graph = module.program().getGraph("test");
  std::mt19937 bits(7);
  NamedTensors inputs;
  SmallVector<HostTensor> values;
  for (unsigned i = 0; i < graph.getInputNames().size(); ++i) {
    HostTensor value = gradus::testing::random(graph.getArgumentTypes()[i],
                                               bits, GetParam().range);
    for (double &number : value.floats)
      number = static_cast<float>(number); // so that both start equal
    inputs[graph.getInputName(i).str()] = value;
    values.push_back(value);
  }
  StateMap states;
  auto results = evaluateGraph(graph, values, states);
  ASSERT_TRUE(succeeded(results));
  NamedTensors expected;
  for (unsigned i = 0; i < results->size(); ++i)
    expected[graph.getOutputName(i).str()] = (*results)[i];
  // Sums of at most a few hundred f32 terms; erf is within 1.5e-7. A result in
  // bf16 is rounded to 8 bits, which the evaluator does not do.
  double relative = text.find("bf16") == std::string::npos ? 2e-5 : 0x1p-8;
  expectNear(Compiled(text).run("test", inputs), expected, relative, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Op, Ops, ::testing::ValuesIn(gradus::testing::rows),
                         [](const auto &info) {
                           std::string name = info.param.op();
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name + "_" + std::to_string(info.index);
                         });
