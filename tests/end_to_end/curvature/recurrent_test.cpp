// The curvature of recurrent layers, whose weights are used in each step, with
// the means over the rows of all steps. They are computed here once more, in
// f64 and by hand.

#include "trained.h"

#include <cmath>
#include <numeric>

using namespace gradus;
using namespace gradus::curvature;

namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

constexpr int64_t kTimes = 3;

/// h = tanh(W x + U h), without an h before the first step.
Network recurrentNetwork() {
  return {.sample = {kTimes, 5},
          .positions = {},
          .classes = 4,
          .tokens = 0,
          .layers = [](ProgramBuilder &net, Tensor x) {
            Tensor input = net.parameter("input.weight", {6, 5}),
                   hidden = net.parameter("hidden.weight", {6, 6}), h;
            for (int64_t time = 0; time < kTimes; ++time) {
              Tensor now = net.flatten(net.slice(x, 1, time, 1)),
                     y = net.matmul(now, input, /*transposeB=*/true);
              if (time > 0)
                y = net.add(y, net.matmul(h, hidden, /*transposeB=*/true));
              h = net.tanh(y);
            }
            return net.dense("fc", h, 4);
          }};
}

Matrix matrixOf(const HostTensor &tensor) {
  int64_t columns = tensor.shape.back();
  Matrix rows;
  for (int64_t at = 0; at < tensor.size(); at += columns)
    rows.emplace_back(tensor.floats.begin() + at,
                      tensor.floats.begin() + at + columns);
  return rows;
}

Vector times(const Matrix &matrix, const Vector &vector) {
  Vector result;
  for (const Vector &row : matrix)
    result.push_back(
        std::inner_product(row.begin(), row.end(), vector.begin(), 0.0));
  return result;
}

Matrix transposed(const Matrix &matrix) {
  Matrix result(matrix[0].size(), Vector(matrix.size()));
  for (size_t i = 0; i < matrix.size(); ++i)
    for (size_t j = 0; j < matrix[0].size(); ++j)
      result[j][i] = matrix[i][j];
  return result;
}

/// The mean over rows of the product of each with itself.
Matrix momentOf(const Matrix &rows) {
  size_t size = rows[0].size();
  Matrix moment(size, Vector(size, 0));
  for (const Vector &row : rows)
    for (size_t i = 0; i < size; ++i)
      for (size_t j = 0; j < size; ++j)
        moment[i][j] += row[i] * row[j] / double(rows.size());
  return moment;
}

/// What goes into a weight and what comes back, a row for each use of it.
struct Sides {
  Matrix inputs, outputs;
};

/// Adds the rows of a sample to those of both weights. Gradients are of the
/// sample's own loss.
void addRows(Sides &input, Sides &hidden, const NamedTensors &parameters,
             const Matrix &x, int64_t label) {
  const Matrix w = matrixOf(parameters.at("input.weight")),
               u = matrixOf(parameters.at("hidden.weight")),
               fc = matrixOf(parameters.at("fc.weight"));
  Matrix h;
  for (int64_t time = 0; time < kTimes; ++time) {
    Vector y = times(w, x[time]);
    for (size_t i = 0; time > 0 && i < y.size(); ++i)
      y[i] += times(u, h.back())[i];
    for (double &each : y)
      each = std::tanh(each);
    h.push_back(y);
  }
  Vector logits = times(fc, h.back()), back(logits.size());
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i)
    sum += back[i] =
        std::exp(logits[i] + parameters.at("fc.bias").floats.at(i));
  for (size_t i = 0; i < back.size(); ++i)
    back[i] = back[i] / sum - (int64_t(i) == label);
  Vector d = times(transposed(fc), back);
  for (int64_t time = kTimes - 1; time >= 0; --time) {
    for (size_t i = 0; i < d.size(); ++i)
      d[i] *= 1 - h[time][i] * h[time][i];
    input.inputs.push_back(x[time]);
    input.outputs.push_back(d);
    if (time == 0)
      break;
    hidden.inputs.push_back(h[time - 1]);
    hidden.outputs.push_back(d);
    d = times(transposed(u), d);
  }
}

/// Expects a state to be the inverse of a damped moment.
void expectInverse(const HostTensor &state, Matrix moment, double damping) {
  for (size_t i = 0; i < moment.size(); ++i)
    moment[i][i] += std::sqrt(damping);
  Matrix inverse = matrixOf(state);
  ASSERT_EQ(inverse.size(), moment.size());
  for (size_t column = 0; column < moment.size(); ++column) {
    Vector one = times(moment, transposed(inverse)[column]);
    for (size_t row = 0; row < moment.size(); ++row)
      EXPECT_NEAR(one[row], row == column, 1e-4) << row << " " << column;
  }
}

} // namespace

TEST(RecurrentLayer, HasTheMeansOverTheRowsOfAllSteps) {
  Trained run(recurrentNetwork(),
              preconditioned({{"damping", 0.07}, {"refresh", {{"every", 1}}}}));
  for (int64_t update = 0; update < 3; ++update) {
    SCOPED_TRACE(update);
    NamedTensors parameters = run.parameters(), given = run.inputs(update);
    Matrix x = matrixOf(given.at("x"));
    Sides input, hidden;
    for (int64_t sample = 0; sample < kSamples; ++sample)
      addRows(input, hidden, parameters,
              Matrix(x.begin() + sample * kTimes,
                     x.begin() + (sample + 1) * kTimes),
              given.at("label").integers.at(sample));
    ASSERT_EQ(input.inputs.size(), size_t(kSamples * kTimes));
    ASSERT_EQ(hidden.inputs.size(), size_t(kSamples * (kTimes - 1)));
    run.step(update);
    NamedTensors states = run.states();
    for (auto [weight, sides] :
         {std::pair("input.weight", &input), {"hidden.weight", &hidden}}) {
      SCOPED_TRACE(weight);
      expectInverse(states.at(std::string("precondition/inputs/") + weight),
                    momentOf(sides->inputs), 0.07);
      expectInverse(states.at(std::string("precondition/outputs/") + weight),
                    momentOf(sides->outputs), 0.07);
    }
  }
}
