// Runs a graph through a pipeline of passes and the machine code, and compares
// with the reference evaluator.
#pragma once

#include "codegen/compile.h"
#include "codegen/libraries/onednn.h"
#include "runtime/session/session.h"
#include "tests/codegen/plan/plan_check.h"

namespace gradus::testing {

/// A graph `@g` compiled and run on random f32 inputs, beside the evaluator's.
struct CompiledRun {
  explicit CompiledRun(const std::string &program)
      : context(makeContext()), module(mlir::parseSourceString<mlir::ModuleOp>(
                                    program, context.get())) {
    EXPECT_TRUE(module);
    std::mt19937 engine(3);
    GraphOp graph = programOf().getGraph("g");
    for (mlir::Type type : graph.getArgumentTypes())
      inputs.push_back(randomTensor(type, engine));
    StateMap states;
    expected = *evaluateGraph(graph, inputs, states);
  }

  ProgramOp programOf() {
    return *module->getBody()->getOps<ProgramOp>().begin();
  }

  /// `passes` run on the program, e.g. "select{library=always}".
  void run(const std::string &passes, double tolerance = 2e-3) {
    mlir::PassManager manager(context.get());
    static bool registered = (registerCodegenPasses(), true);
    ASSERT_TRUE(registered && mlir::succeeded(mlir::parsePassPipeline(
                                  "gradus.program(" + passes + ")", manager)));
    ASSERT_TRUE(mlir::succeeded(manager.run(*module)));
    programOf().walk(
        [&](plan::LibraryOp op) { calls.push_back(op.getCall().str()); });
    auto bytes = compileProgram(*module, {});
    ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
    std::vector<uint8_t> file(bytes->begin(), bytes->end());
    auto artifact = runtime::Artifact::fromBytes(file, "test");
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    auto session = runtime::Session::create(*artifact);
    ASSERT_TRUE(session.ok()) << session.status().message();
    step(**session, tolerance);
  }

  void step(runtime::Session &session, double tolerance) {
    std::vector<std::vector<float>> in, out;
    for (const HostTensor &tensor : inputs)
      in.emplace_back(tensor.floats.begin(), tensor.floats.end());
    for (const HostTensor &tensor : expected)
      out.emplace_back(tensor.size());
    std::vector<const void *> inPointers;
    std::vector<void *> outPointers;
    for (auto &tensor : in)
      inPointers.push_back(tensor.data());
    for (auto &tensor : out)
      outPointers.push_back(tensor.data());
    auto status = session.step(session.findGraph("g"), inPointers, outPointers);
    ASSERT_TRUE(status.ok()) << status.message();
    for (auto [e, f] : llvm::zip(expected, out))
      for (size_t i = 0; i < f.size(); ++i)
        ASSERT_NEAR(e.floats[i], f[i], tolerance) << "element " << i;
  }

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<HostTensor> inputs;
  llvm::SmallVector<HostTensor> expected;
  std::vector<std::string> calls;
};

inline int callsOf(const CompiledRun &run, const std::string &call) {
  return llvm::count(run.calls, call);
}

} // namespace gradus::testing
