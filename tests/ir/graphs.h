// What the tests of ir/ share: graphs from text, tensors from numbers.
#pragma once

#include "ir/evaluator/evaluator.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <random>

namespace gradus::testing {

/// One context for all tests of a process, with every op of a program loaded.
inline mlir::MLIRContext &context() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    auto *made = new mlir::MLIRContext(registry);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

inline mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
  return mlir::parseSourceString<mlir::ModuleOp>(text, &context());
}

/// A graph @test of these inputs and statements, without outputs.
inline mlir::OwningOpRef<mlir::ModuleOp>
parseGraph(const std::string &inputs, const std::string &statements) {
  auto module = parse("gradus.program @test {\n gradus.graph @test(" + inputs +
                      ") {\n" + statements + "\n gradus.return\n }\n}");
  EXPECT_TRUE(module) << "in: " << statements;
  return module;
}

inline GraphOp graphOf(mlir::ModuleOp module) {
  GraphOp graph;
  module.walk([&](GraphOp found) { graph = found; });
  return graph;
}

/// The last op but the return.
inline mlir::Operation *lastOp(GraphOp graph) {
  return graph.getBody().front().getTerminator()->getPrevNode();
}

inline HostTensor floats(std::vector<int64_t> shape,
                         std::vector<double> values) {
  HostTensor tensor = zeros(shape);
  tensor.floats = std::move(values);
  EXPECT_EQ(tensor.size(), int64_t(tensor.floats.size()));
  return tensor;
}

inline HostTensor integers(std::vector<int64_t> shape,
                           std::vector<int64_t> values) {
  HostTensor tensor = zeros(shape, /*isFloat=*/false);
  tensor.integers = std::move(values);
  EXPECT_EQ(tensor.size(), int64_t(tensor.integers.size()));
  return tensor;
}

/// Which random numbers suit an op: floats of [low, high], and integers of
/// [0, integers) as labels are. `diagonal` is added to the diagonals of square
/// matrices, to make them positive definite.
struct Range {
  double low = -2, high = 2;
  int64_t integers = 2;
  double diagonal = 0;
};

inline HostTensor random(mlir::Type type, std::mt19937 &bits,
                         Range range = {}) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  HostTensor result = zeros(tensor);
  std::uniform_real_distribution<double> real(range.low, range.high);
  std::uniform_int_distribution<int64_t> whole(0, range.integers - 1);
  for (double &value : result.floats)
    value = real(bits);
  for (int64_t &value : result.integers)
    value = whole(bits);
  llvm::ArrayRef<int64_t> shape = result.shape;
  if (range.diagonal != 0 && shape.size() > 1 &&
      shape.back() == shape.drop_back().back())
    for (int64_t i = 0; i < int64_t(result.floats.size()); ++i)
      if (i % shape.back() == i / shape.back() % shape.back())
        result.floats[i] += range.diagonal;
  return result;
}

inline std::vector<HostTensor> randomInputs(GraphOp graph, std::mt19937 &bits,
                                            Range range = {}) {
  std::vector<HostTensor> inputs;
  for (mlir::Type type : graph.getArgumentTypes())
    inputs.push_back(random(type, bits, range));
  return inputs;
}

/// The results of the last op of a graph of these statements.
inline std::vector<HostTensor> evaluate(const std::string &inputs,
                                        const std::string &statements,
                                        std::vector<HostTensor> values) {
  auto module = parseGraph(inputs, statements);
  if (!module)
    return {};
  GraphOp graph = graphOf(*module);
  unsigned number = 0;
  for (mlir::Value result : lastOp(graph)->getResults())
    graph.addOutput("out" + std::to_string(number++), result);
  StateMap states;
  auto results = evaluateGraph(graph, values, states);
  EXPECT_TRUE(mlir::succeeded(results)) << "in: " << statements;
  if (failed(results))
    return {};
  return {results->begin(), results->end()};
}

inline void expectNear(const HostTensor &found, const HostTensor &expected,
                       double tolerance) {
  EXPECT_EQ(found.shape, expected.shape);
  EXPECT_EQ(found.integers, expected.integers);
  ASSERT_EQ(found.floats.size(), expected.floats.size());
  for (size_t i = 0; i < found.floats.size(); ++i)
    EXPECT_NEAR(found.floats[i], expected.floats[i],
                tolerance * (1 + std::abs(expected.floats[i])))
        << "at element " << i;
}

} // namespace gradus::testing
