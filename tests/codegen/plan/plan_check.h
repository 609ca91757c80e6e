// Checks that a pass of codegen keeps what a graph computes: the reference
// evaluator before, the interpreter of plans after, on the same random inputs.
#pragma once

#include "codegen/plan/passes.h"
#include "passes/passes.h"
#include "tests/codegen/plan/plan_interpreter.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <gtest/gtest.h>

#include <random>

namespace gradus::testing {

/// A context with all dialects of the compiler.
inline std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  registry.insert<plan::PlanDialect>();
  auto context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

/// Floats around 0, or integers from 0 to 3.
inline HostTensor randomTensor(mlir::Type type, std::mt19937 &engine) {
  HostTensor tensor = zeros(mlir::cast<mlir::RankedTensorType>(type));
  std::uniform_real_distribution<double> real(-2, 2);
  std::uniform_int_distribution<int64_t> whole(0, 3);
  for (double &value : tensor.floats)
    value = real(engine);
  for (int64_t &value : tensor.integers)
    value = whole(engine);
  return tensor;
}

/// Constants in the code are f32, so equal means to about its precision.
inline void expectNear(const HostTensor &expected, const HostTensor &found) {
  ASSERT_EQ(expected.shape, found.shape);
  EXPECT_EQ(expected.integers, found.integers);
  for (size_t i = 0; i < expected.floats.size(); ++i) {
    if (std::isnan(expected.floats[i]) && std::isnan(found.floats[i]))
      continue;
    ASSERT_NEAR(expected.floats[i], found.floats[i],
                1e-6 * (1 + std::fabs(expected.floats[i])))
        << "element " << i;
  }
}

/// All graphs of a program before and after `pipeline`. A model with a recipe
/// becomes a training step first.
class PlanCheck {
public:
  PlanCheck(llvm::StringRef program, llvm::StringRef pipeline)
      : context_(makeContext()),
        before_(
            mlir::parseSourceString<mlir::ModuleOp>(program, context_.get())) {
    mlir::PassManager training(context_.get());
    buildTrainingPipeline(training);
    if (!before_ || mlir::failed(training.run(*before_)))
      return;
    after_ = before_->clone();
    mlir::PassManager manager(context_.get());
    std::string passes = ("gradus.program(" + pipeline + ")").str();
    static bool registered = (registerCodegenPasses(), true);
    if (!registered || mlir::failed(mlir::parsePassPipeline(passes, manager)) ||
        mlir::failed(manager.run(*after_)))
      after_ = {};
  }

  GraphOp graph(llvm::StringRef name) {
    return programOf(*after_).getGraph(name);
  }
  ProgramOp program() { return programOf(*after_); }

  void expectSame() {
    ASSERT_TRUE(before_ && after_);
    auto before = programOf(*before_), after = programOf(*after_);
    for (auto graph : before.getBody().getOps<GraphOp>())
      expectSameGraph(before, graph, after.getGraph(graph.getSymName()));
  }

private:
  static ProgramOp programOf(mlir::ModuleOp module) {
    return *module.getBody()->getOps<ProgramOp>().begin();
  }

  void expectSameGraph(ProgramOp program, GraphOp before, GraphOp after) {
    std::mt19937 engine(7);
    llvm::SmallVector<HostTensor> inputs;
    for (mlir::Type type : before.getArgumentTypes())
      inputs.push_back(randomTensor(type, engine));
    StateMap states;
    for (auto state : program.getBody().getOps<StateOp>())
      states[state.getSymName()] = randomTensor(state.getType(), engine);
    StateMap statesAfter = states;
    auto expected = evaluateGraph(before, inputs, states);
    ASSERT_TRUE(mlir::succeeded(expected));
    auto found = PlanInterpreter().run(after, inputs, statesAfter);
    for (auto [e, f] : llvm::zip(*expected, found))
      expectNear(e, f);
    for (auto &entry : states)
      expectNear(entry.getValue(), statesAfter[entry.getKey()]);
  }

  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> before_, after_;
};

/// How many ops of a kind a graph has.
template <typename Op> int count(GraphOp graph) {
  int ops = 0;
  graph.walk([&](Op) { ++ops; });
  return ops;
}

/// A program of one graph `@g` with this signature and body.
inline std::string graphProgram(const std::string &signature,
                                const std::string &body) {
  return "gradus.program @p {\ngradus.graph @g(" + signature + ") {\n" + body +
         "\n}\n}\n";
}

} // namespace gradus::testing
