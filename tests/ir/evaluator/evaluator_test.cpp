// Host tensors from and to attributes, and graphs run on states.

#include "tests/ir/graphs.h"

using namespace mlir;
using namespace gradus;
using namespace gradus::testing;

static HostTensor attribute(const char *text) {
  return *toHost(cast<ElementsAttr>(parseAttribute(text, &context())));
}

TEST(HostTensors, KeepTheValuesOfAttributes) {
  EXPECT_EQ(attribute("dense<[1.5, -2.0]> : tensor<2xbf16>").floats,
            (std::vector<double>{1.5, -2}));
  EXPECT_EQ(attribute("dense<-7> : tensor<2x2xi32>").integers,
            (std::vector<int64_t>{-7, -7, -7, -7}));
  EXPECT_EQ(attribute("dense<[true, false]> : tensor<2xi1>").integers,
            (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(attribute("dense<3.0> : tensor<f64>").shape.size(), 0u);
}

TEST(HostTensors, GoBackToAttributes) {
  for (const char *text : {"dense<[[1.5], [-2.0]]> : tensor<2x1xf32>",
                           "dense<[-7, 8]> : tensor<2xi32>",
                           "dense<[true, false]> : tensor<2xi1>"}) {
    auto elements = cast<ElementsAttr>(parseAttribute(text, &context()));
    EXPECT_EQ(toElements(*toHost(elements),
                         cast<RankedTensorType>(elements.getType())),
              elements);
  }
}

static const char *counterProgram = R"(
gradus.program @count {
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train(%by: tensor<i64>) -> (before: tensor<i64>) {
    %step = gradus.read @step : tensor<i64>
    %next = arith.addi %step, %by : tensor<i64>
    gradus.write @step, %next : tensor<i64>
    %again = gradus.read @step : tensor<i64>
    gradus.return %again : tensor<i64>
  }
})";

// A write is seen at exit: the second read gives the value at entry.
TEST(EvaluateGraph, ReadsTheValueAtEntryAndWritesItAtExit) {
  auto module = parse(counterProgram);
  StateMap states;
  states["step"] = integers({}, {5});
  auto outputs = evaluateGraph(graphOf(*module), {integers({}, {2})}, states);
  EXPECT_EQ((*outputs)[0].integers[0], 5);
  EXPECT_EQ(states["step"].integers[0], 7);
}

TEST(EvaluateGraph, NamesAMissingState) {
  auto module = parse(counterProgram);
  std::string message;
  ScopedDiagnosticHandler handler(
      &context(), [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  StateMap states;
  EXPECT_TRUE(
      failed(evaluateGraph(graphOf(*module), {integers({}, {2})}, states)));
  EXPECT_EQ(message,
            "'gradus.read' op reads state @step, whose value is missing "
            "or does not fit 'tensor<i64>'");
}

static const char *updateProgram = R"(
gradus.program @move {
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<2xf32>) {
    %twice = arith.addf %g, %g : tensor<2xf32>
    gradus.update @w, %twice : tensor<2xf32>
    gradus.return
  }
})";

TEST(EvaluateGraph, GivesTheGradientsOfUpdates) {
  auto module = parse(updateProgram);
  StateMap states, gradients;
  EXPECT_TRUE(succeeded(evaluateGraph(graphOf(*module), {floats({2}, {1, 2})},
                                      states, &gradients)));
  EXPECT_EQ(gradients["w"].floats, (std::vector<double>{2, 4}));
}

TEST(EvaluateGraph, RefusesAnUpdateThatDoesNotSayTheNewValue) {
  auto module = parse(updateProgram);
  ScopedDiagnosticHandler quiet(&context(), [](Diagnostic &) {});
  StateMap states;
  EXPECT_TRUE(
      failed(evaluateGraph(graphOf(*module), {floats({2}, {1, 2})}, states)));
}

TEST(EvaluateOp, RefusesOperandsThatDoNotFit) {
  auto module =
      parseGraph("%x: tensor<2xf32>", "%y = gradus.relu %x : tensor<2xf32>");
  std::string message;
  ScopedDiagnosticHandler handler(
      &context(), [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  EXPECT_TRUE(
      failed(evaluateOp(lastOp(graphOf(*module)), {floats({3}, {1, 2, 3})})));
  EXPECT_EQ(message, "'gradus.relu' op is evaluated on an operand 0 that does "
                     "not fit 'tensor<2xf32>'");
}
