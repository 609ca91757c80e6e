// Formulas on values give the ops that their elements' type has.

#include "ir/arithmetic.h"

#include "graphs.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

/// A graph whose output is what `formula` makes of its input.
struct Made {
  Made(const std::string &type,
       llvm::function_ref<mlir::Value(const Arithmetic &, mlir::Value)> formula)
      : module(parseGraph("%x: " + type, "")), graph(graphOf(*module)) {
    mlir::OpBuilder builder(graph.getBody().front().getTerminator());
    Arithmetic a(builder, graph.getLoc());
    graph.addOutput("y", formula(a, graph.getBody().getArgument(0)));
  }

  HostTensor of(HostTensor input) {
    StateMap states;
    return (*evaluateGraph(graph, {input}, states))[0];
  }

  mlir::OwningOpRef<mlir::ModuleOp> module;
  GraphOp graph;
};

} // namespace

TEST(Arithmetic, IsOfFloatsOrOfIntegers) {
  auto formula = [](const Arithmetic &a, mlir::Value x) {
    return a.subtract(a.multiply(x, x), a.add(x, a.number(3, x)));
  };
  EXPECT_EQ(Made("tensor<2xf32>", formula).of(floats({2}, {2.5, -1})).floats,
            (std::vector<double>{0.75, -1}));
  EXPECT_EQ(Made("tensor<2xi32>", formula).of(integers({2}, {5, -1})).integers,
            (std::vector<int64_t>{17, -1}));
}

TEST(Arithmetic, OfConstantsIsOne) {
  Made made("tensor<2xf32>", [](const Arithmetic &a, mlir::Value x) {
    return a.add(a.number(3, x), a.number(4, x));
  });
  EXPECT_TRUE(mlir::isa<mlir::arith::ConstantOp>(lastOp(made.graph)));
  EXPECT_EQ(made.of(floats({2}, {0, 0})).floats, (std::vector<double>{7, 7}));
}

TEST(Arithmetic, HasTheSignOfZeroAndTheNormOfAll) {
  Made sign("tensor<3xf32>",
            [](const Arithmetic &a, mlir::Value x) { return a.sign(x); });
  EXPECT_EQ(sign.of(floats({3}, {-2, 0, 5})).floats,
            (std::vector<double>{-1, 0, 1}));
  Made norm("tensor<2x1xf32>",
            [](const Arithmetic &a, mlir::Value x) { return a.norm(x); });
  EXPECT_EQ(norm.of(floats({2, 1}, {3, 4})).floats, (std::vector<double>{5}));
}
