// What the tests of second moments and inverses share: one op compiled for the
// processor, beside the evaluator's result, and its kernels on the emulated
// GPU.
#pragma once

#include "tests/codegen/gpu/check.h"
#include "tests/codegen/plan/plan_check.h"
#include "tests/end_to_end/compiled.h"

namespace gradus::test {

/// A program whose graph `@g` is one op of `x`.
struct OneOp {
  std::string input, op, result; // types, and the op with its attributes

  std::string text() const {
    return "gradus.program @p {\ngradus.graph @g(%x: " + input +
           ") -> (y: " + result + ") {\n%y = gradus." + op + " : " +
           (input == result ? input : input + " -> " + result) +
           "\ngradus.return %y : " + result + "\n}\n}\n";
  }
};

inline HostTensor evaluatedOf(const OneOp &op, const HostTensor &x) {
  ModuleText module(op.text());
  StateMap states;
  auto results = evaluateGraph(module.program().getGraph("g"), {x}, states);
  EXPECT_TRUE(mlir::succeeded(results)) << op.text();
  return (*results)[0];
}

/// What machine code for `target` computes.
inline HostTensor compiledOf(const OneOp &op, const HostTensor &x,
                             runtime::SessionOptions options = {},
                             const std::string &target = "cpu") {
  ModuleText module(op.text());
  CompileOptions compiling;
  compiling.targets = {target};
  auto bytes = compileProgram(*module.module, compiling);
  EXPECT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  return Compiled(std::move(*bytes), options).run("g", {{"x", x}})["y"];
}

/// The op's kernels on the emulated GPU do what they do on the processor.
/// `prepare` changes their random arguments.
inline void
checkEmulated(const OneOp &op, double tolerance,
              std::function<void(std::vector<Tensor> &)> prepare = {}) {
  ModuleText module(op.text());
  Target target = llvm::cantFail(findTarget("cuda", {"never"}));
  ASSERT_TRUE(mlir::succeeded(runStages(*module.module, "", target.model)));
  std::vector<plan::KernelOp> kernels;
  module.module->walk(
      [&](plan::KernelOp kernel) { kernels.push_back(kernel); });
  ASSERT_FALSE(kernels.empty());
  GpuCheck check;
  check.tolerance = tolerance;
  check.prepare = prepare;
  check.run(kernels);
}

} // namespace gradus::test
