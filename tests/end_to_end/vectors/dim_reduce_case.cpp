// Quasi-Newton steps of MindSpore's DimReduce on a sum of squares: the same
// steps with the same losses, weights and estimate.

#include "vector_file.h"

namespace gradus::vectors {
namespace {

Json recipeOf(const Settings &h) {
  return {
      {"optimizer",
       {{"type", "sgd"},
        {"learning_rate", h.at("alpha")},
        {"momentum", h.at("gamma")}}},
      {"dim_reduce",
       {{"contraction", h.at("rho")}, {"sufficient_decrease", h.at("sigma")}}}};
}

/// `dense<[[1, 0, 0], [0, 1, 0]]>` of a recorded matrix.
std::string denseText(const Json &matrix) {
  std::vector<int64_t> shape = shapeOf(matrix);
  std::vector<double> numbers = numbersOf(matrix);
  std::string text;
  for (int64_t row = 0; row < shape.at(0); ++row) {
    text += row ? ", [" : "[";
    for (int64_t column = 0; column < shape.at(1); ++column)
      text += (column ? ", " : "") +
              std::to_string(numbers[row * shape.at(1) + column]);
    text += "]";
  }
  return "dense<[" + text + "]>";
}

/// A program whose loss is the sum of coefficient * w^2.
std::string programText(const VectorFile &file, const Json &recipe) {
  std::vector<int64_t> basis = shapeOf(file.inputs().at("projection_rows"));
  std::string vector = "tensor<" + std::to_string(basis.at(1)) + "xf32>",
              rows = "tensor<" + std::to_string(basis.at(0)) + "x" +
                     std::to_string(basis.at(1)) + "xf32>";
  return "gradus.program @p attributes {recipe = " + recipeText(recipe) +
         "} {\n"
         "  gradus.state @w : " +
         vector +
         " {role = #gradus.role<parameter>, init = #gradus.init<zeros>}\n"
         "  gradus.state @\"dim_reduce/basis/w\" : " +
         rows + " {fixed, role = #gradus.role<slot>, value = " +
         denseText(file.inputs().at("projection_rows")) + " : " + rows +
         "}\n"
         "  gradus.graph @train(%coefficient: " +
         vector +
         ") -> (loss: tensor<f32>) {\n"
         "    %w = gradus.read @w : " +
         vector +
         "\n"
         "    %square = arith.mulf %w, %w : " +
         vector +
         "\n"
         "    %part = arith.mulf %coefficient, %square : " +
         vector +
         "\n"
         "    %loss = gradus.reduce sum %part axes [0] : " +
         vector +
         " -> tensor<f32>\n"
         "    gradus.return %loss : tensor<f32>\n"
         "  }\n"
         "}";
}

} // namespace

void checkDimReduce(const VectorFile &file) {
  Settings h(file.hyperparameters());
  Json recipe = recipeOf(h);
  h.expectAllRead();
  Compiled run(programText(file, recipe));
  ASSERT_TRUE(run.ok());
  const Json &coefficient = file.inputs().at("coefficient"),
             &w = file.inputs().at("w"), &expected = file.expected();
  run.setState("w", tensorOf(w, shapeOf(w)));
  int64_t steps = shapeOf(expected.at("loss")).front();
  for (int64_t step = 0; step < steps; ++step) {
    NamedTensors outputs =
        run.run("train",
                {{"coefficient", tensorOf(coefficient, shapeOf(coefficient))}});
    NamedTensors states = run.states();
    file.expectLoss(step, outputs.at("loss").floats[0], expected.at("loss"));
    file.expectNear("w", states.at("w").floats, expected.at("w_after_step"),
                    step);
    file.expectNear("H", states.at("dim_reduce/inverse_hessian").floats,
                    expected.at("H_after_step"), step);
  }
}

} // namespace gradus::vectors
