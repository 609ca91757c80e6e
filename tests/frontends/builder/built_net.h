// A net that a test writes with the builder and evaluates.
#pragma once

#include "frontends/builder/program_builder.h"

#include "ir/evaluator/evaluator.h"

#include <gtest/gtest.h>

namespace gradus::testing {

using Values = std::vector<double>;

inline HostTensor reals(const Shape &shape, const Values &values) {
  return {
      llvm::SmallVector<int64_t>(shape.begin(), shape.end()), true, values, {}};
}

class BuiltNet : public ::testing::Test {
protected:
  mlir::MLIRContext context_{registry(),
                             mlir::MLIRContext::Threading::DISABLED};
  ProgramBuilder net{context_, "net"};

  /// What the elements of a state that has no values of its own start as.
  virtual double initial(StateOp state) const = 0;

  /// The net's only output.
  Values evaluate(const std::vector<HostTensor> &inputs) {
    auto module = net.finish();
    EXPECT_TRUE(module.ok()) << module.status();
    if (!module.ok())
      return {};
    ProgramOp program = *(*module)->getOps<ProgramOp>().begin();
    StateMap states;
    for (StateOp state : program.getOps<StateOp>())
      states[state.getSymName()] = valueOf(state);
    auto outputs = evaluateGraph(program.getGraph("predict"), inputs, states);
    EXPECT_TRUE(mlir::succeeded(outputs));
    return mlir::succeeded(outputs) ? outputs->front().floats : Values();
  }

  std::string mistake() { return std::string(net.finish().status().message()); }

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  HostTensor valueOf(StateOp state) const {
    if (state.getValue())
      return *toHost(*state.getValue());
    HostTensor result =
        zeros(mlir::cast<mlir::RankedTensorType>(state.getType()));
    std::fill(result.floats.begin(), result.floats.end(), initial(state));
    return result;
  }
};

} // namespace gradus::testing
