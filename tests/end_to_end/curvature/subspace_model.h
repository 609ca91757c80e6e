// The rule of `dim_reduce` in f64, which knows of a network only its loss and
// its gradient. For tests.
#pragma once

#include "trained.h"

namespace gradus::curvature {

using Vector = std::vector<double>;

double product(const Vector &one, const Vector &other);
/// a + factor * b
Vector along(const Vector &a, double factor, const Vector &b);
/// All tensors one after the other, in the order of their names.
Vector flat(const NamedTensors &tensors);
/// The rows of a run's basis, each in the order of `flat`.
std::vector<Vector> basisOf(const Trained &run);

/// Plain descent.
Json sgd(double rate, double momentum = 0);
/// A rate at which the optimizer moves nothing.
inline Json still() { return sgd(1e-30); }

/// A recipe with all keys of both.
Json with(Json recipe, const Json &more);

/// A run that computes the same bits wherever it has one core or many. What it
/// decides by comparing numbers may still differ between machines, whose
/// vectors add in other orders: see Model::margin.
class Alone : public Trained {
public:
  Alone(const Network &network, const Json &recipe, int64_t batch = kSamples)
      : Trained(network, recipe, batch, {.threads = 1}) {}
};

/// The network's loss and gradient at any weights, from a run that descends.
class Slope {
public:
  explicit Slope(const Network &network, const Json &more = Json::object());

  /// Returns the loss on inputs; `gradient` becomes that of the parameters.
  /// Random numbers are those of the step `step`.
  double at(const Vector &weights, const NamedTensors &inputs, int64_t step,
            Vector *gradient = nullptr);
  NamedTensors inputs(int64_t update) const { return run_.inputs(update); }

private:
  Alone run_;
};

/// Section 8.5 of the rule, with numbers of f64, from where a run is.
class Model {
public:
  Model(const Network &network, const Trained &run, double rate,
        double momentum, const Json &more = Json::object());

  /// A step on the samples of an update, whose number is also the step's.
  void step(int64_t update) { stepOn(slope_.inputs(update), update); }
  void stepOn(const NamedTensors &inputs, int64_t step);

  Vector weights;
  std::vector<Vector> inverse;
  int64_t accepted = 0, shortened = 0;
  /// The smallest distance of a trial's loss from the bound that decides about
  /// it, in parts of the loss. Where it is small, another order of additions
  /// may decide otherwise.
  double margin = 1e300;
  /// Where trials would draw the random numbers of a later step, by so many.
  int64_t drawsLater = 0;

private:
  Vector outside(const Vector &inside) const;
  void learn(const Vector &y);
  double search(double loss, double predicted, const Vector &direction,
                const NamedTensors &inputs, int64_t step);

  Slope slope_;
  std::vector<Vector> rows_;
  double rate_, momentum_;
  Vector last_, stepped_, moment_;
};

/// Decisions with this margin are the same on all machines: it is some hundred
/// times what the order of additions changes in a loss of f32.
constexpr double kClear = 1e-4;

/// Fails where a run's next step on an update decides by less than `margin`;
/// whether a trial is accepted does not depend on the optimizer.
void expectClear(const Network &network, const Json &recipe, int64_t update = 0,
                 double margin = kClear);

void expectNearlyEqual(const Vector &found, const Vector &expected,
                       double part);

} // namespace gradus::curvature
