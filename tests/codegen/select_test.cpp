// What the library computes in a compiled program is what the graph says.

#include "codegen/compile.h"
#include "codegen/library_layouts.h"
#include "runtime/session.h"
#include "tests/codegen/plan_check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

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

  void run() {
    mlir::PassManager manager(context.get());
    static bool registered = (registerCodegenPasses(), true);
    ASSERT_TRUE(registered &&
                mlir::succeeded(mlir::parsePassPipeline(
                    "gradus.program(select{library=always})", manager)));
    ASSERT_TRUE(mlir::succeeded(manager.run(*module)));
    auto bytes = compileProgram(*module, {});
    ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
    programOf().walk(
        [&](plan::LibraryOp op) { calls.push_back(op.getCall().str()); });
    std::vector<uint8_t> file(bytes->begin(), bytes->end());
    auto artifact = runtime::Artifact::fromBytes(file, "test");
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    auto session = runtime::Session::create(*artifact);
    ASSERT_TRUE(session.ok()) << session.status().message();
    step(**session);
  }

  void step(runtime::Session &session) {
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
        ASSERT_NEAR(e.floats[i], f[i], 2e-3) << "element " << i;
  }

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<HostTensor> inputs;
  llvm::SmallVector<HostTensor> expected;
  std::vector<std::string> calls;
};

int callsOf(const CompiledRun &run, const std::string &call) {
  return llvm::count(run.calls, call);
}

TEST(Select, MultipliesMatricesByTheLibrary) {
  if (!hasLibrary())
    GTEST_SKIP() << "oneDNN is not here";
  CompiledRun run(graphProgram(
      "%x: tensor<24x40xf32>, %w: tensor<48x40xf32>, %b: tensor<48xf32>) "
      "-> (y: tensor<24x48xf32>",
      "%0 = gradus.matmul %x, %w transposed : tensor<24x40xf32>, "
      "tensor<48x40xf32> -> tensor<24x48xf32>\n"
      "%1 = gradus.broadcast %b dims [1] : tensor<48xf32> -> "
      "tensor<24x48xf32>\n"
      "%2 = arith.addf %0, %1 : tensor<24x48xf32>\n"
      "%3 = gradus.relu %2 : tensor<24x48xf32>\n"
      "gradus.return %3 : tensor<24x48xf32>"));
  run.run();
  EXPECT_EQ(callsOf(run, "matmul"), 1);
}

TEST(Select, ConvolvesByTheLibrary) {
  if (!hasLibrary())
    GTEST_SKIP() << "oneDNN is not here";
  std::string x = "tensor<2x16x12x12xf32>", w = "tensor<32x16x3x3xf32>",
              y = "tensor<2x32x12x12xf32>";
  std::string window =
      " strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : ";
  CompiledRun run(graphProgram(
      "%x: " + x + ", %w: " + w + ", %b: tensor<32xf32>, %dy: " + y +
          ") -> (y: " + y + ", dx: " + x + ", dw: " + w,
      "%0 = gradus.convolution %x, %w" + window + x + ", " + w + " -> " + y +
          "\n" + "%1 = gradus.broadcast %b dims [1] : tensor<32xf32> -> " + y +
          "\n" + "%2 = arith.addf %0, %1 : " + y + "\n%3 = gradus.relu %2 : " +
          y + "\n" + "%dx = gradus.convolution_backward_data %dy, %w" + window +
          y + ", " + w + " -> " + x + "\n" +
          "%dw = gradus.convolution_backward_weights %x, %dy" + window + x +
          ", " + y + " -> " + w + "\n" + "gradus.return %3, %dx, %dw : " + y +
          ", " + x + ", " + w));
  run.run();
  EXPECT_EQ(callsOf(run, "convolution"), 1);
  EXPECT_EQ(callsOf(run, "convolution_backward_data"), 1);
  EXPECT_EQ(callsOf(run, "convolution_backward_weights"), 1);
}

} // namespace
