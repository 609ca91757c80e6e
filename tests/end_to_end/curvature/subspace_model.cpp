// Steps in a subspace in f64; see subspace_model.h.

#include "subspace_model.h"

#include <algorithm>
#include <cmath>

using namespace gradus;
using namespace gradus::curvature;

//===-- vectors -----------------------------------------------------------===//

double curvature::product(const Vector &one, const Vector &other) {
  double sum = 0;
  for (size_t i = 0; i < one.size(); ++i)
    sum += one[i] * other.at(i);
  return sum;
}

Vector curvature::along(const Vector &a, double factor, const Vector &b) {
  Vector result;
  for (size_t i = 0; i < a.size(); ++i)
    result.push_back(a[i] + factor * b.at(i));
  return result;
}

Vector curvature::flat(const NamedTensors &tensors) {
  Vector all;
  for (const auto &[name, tensor] : tensors)
    llvm::append_range(all, tensor.floats);
  return all;
}

std::vector<Vector> curvature::basisOf(const Trained &run) {
  std::vector<Vector> rows;
  for (const auto &[name, tensor] : run.states()) {
    if (!llvm::StringRef(name).starts_with("dim_reduce/basis/"))
      continue;
    rows.resize(tensor.shape.front());
    size_t size = tensor.floats.size() / rows.size();
    for (size_t row = 0; row < rows.size(); ++row)
      rows[row].insert(rows[row].end(), tensor.floats.begin() + row * size,
                       tensor.floats.begin() + (row + 1) * size);
  }
  return rows;
}

//===-- recipes -----------------------------------------------------------===//

Json curvature::sgd(double rate, double momentum) {
  return {{"optimizer",
           {{"type", "sgd"}, {"learning_rate", rate}, {"momentum", momentum}}}};
}

Json curvature::with(Json recipe, const Json &more) {
  recipe.update(more);
  return recipe;
}

//===-- the slope ---------------------------------------------------------===//

Slope::Slope(const Network &network, const Json &more)
    : run_(network, plain(with(more, sgd(1)))) {}

double Slope::at(const Vector &weights, const NamedTensors &inputs,
                 int64_t step, Vector *gradient) {
  size_t begin = 0;
  for (auto &[name, tensor] : run_.parameters()) {
    tensor.floats.assign(weights.begin() + begin,
                         weights.begin() + begin + tensor.size());
    begin += tensor.size();
    run_.compiled().setState(name, tensor);
  }
  if (NamedTensors states = run_.states(); states.contains("step")) {
    states.at("step").integers = {step};
    run_.compiled().setState("step", states.at("step"));
  }
  Vector before = flat(run_.parameters());
  run_.stepOn(inputs);
  if (gradient)
    *gradient = change(flat(run_.parameters()), before);
  return run_.loss();
}

//===-- the rule ----------------------------------------------------------===//

Model::Model(const Network &network, const Trained &run, double rate,
             double momentum, const Json &more)
    : weights(flat(run.parameters())), slope_(network, more),
      rows_(basisOf(run)), rate_(rate), momentum_(momentum),
      last_(rows_.size(), 0.0), stepped_(rows_.size(), 0.0),
      moment_(weights.size(), 0.0) {
  for (size_t i = 0; i < rows_.size(); ++i) {
    inverse.emplace_back(rows_.size(), 0.0);
    inverse[i][i] = 1;
  }
}

void Model::stepOn(const NamedTensors &inputs, int64_t step) {
  Vector gradient, inside;
  double loss = slope_.at(weights, inputs, step, &gradient);
  for (const Vector &row : rows_)
    inside.push_back(product(row, gradient));
  std::vector<Vector> before = inverse;
  learn(along(inside, -1, last_));
  Vector d;
  for (const Vector &row : inverse)
    d.push_back(-product(row, inside));
  double length = search(loss, product(inside, d), outside(d), inputs, step);
  moment_ = along(along(gradient, -1, outside(inside)), momentum_, moment_);
  weights = along(along(weights, length, outside(d)), -rate_, moment_);
  if (length == 0) {
    inverse = before;
    return;
  }
  ++accepted;
  last_ = inside;
  stepped_ = along(Vector(d.size(), 0.0), length, d);
}

Vector Model::outside(const Vector &inside) const {
  Vector result(weights.size(), 0.0);
  for (size_t row = 0; row < rows_.size(); ++row)
    result = along(result, inside[row], rows_[row]);
  return result;
}

/// H becomes E^T H E + s s^T / q with E = I - y s^T / q.
void Model::learn(const Vector &y) {
  size_t n = y.size();
  double q = product(y, stepped_);
  if (!(q > 1e-20))
    return;
  auto e = [&](size_t i, size_t j) {
    return double(i == j) - y[i] * stepped_[j] / q;
  };
  std::vector<Vector> result(n, Vector(n, 0.0));
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) {
      for (size_t a = 0; a < n; ++a)
        for (size_t b = 0; b < n; ++b)
          result[i][j] += e(a, i) * inverse[a][b] * e(b, j);
      result[i][j] += stepped_[i] * stepped_[j] / q;
    }
  inverse = result;
}

double Model::search(double loss, double predicted, const Vector &direction,
                     const NamedTensors &inputs, int64_t step) {
  for (double length : {1.0, 0.55}) {
    double bound = loss + 0.4 * length * predicted,
           there = slope_.at(along(weights, length, direction), inputs,
                             step + drawsLater);
    margin = std::min(margin, std::abs(bound - there) / std::abs(loss));
    if (bound > there) {
      shortened += length < 1;
      return length;
    }
  }
  return 0;
}

//===-- expectations ------------------------------------------------------===//

void curvature::expectClear(const Network &network, const Json &recipe,
                            int64_t update, double margin) {
  Alone run(network, recipe);
  Model model(network, run, 0, 0);
  model.step(update);
  EXPECT_GT(model.margin, margin) << "choose other samples or directions";
}

void curvature::expectNearlyEqual(const Vector &found, const Vector &expected,
                                  double part) {
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0;
  for (double number : expected)
    largest = std::max(largest, std::abs(number));
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], part * largest) << "element " << i;
}
