// Small networks that are compiled with a recipe and trained on random samples,
// and what second-order methods leave in their states. For tests.
#pragma once

#include "compiled.h"

#include "frontends/builder/program_builder.h"

#include <nlohmann/json.hpp>

namespace gradus::curvature {

using Json = nlohmann::json;

/// The samples that there are for each update.
constexpr int64_t kSamples = 8;

struct Network {
  Shape sample;    // of x
  Shape positions; // that have a label, of a sample; empty: a label a sample
  int64_t classes;
  int64_t tokens; // of x, which is integers; 0: x has numbers
  std::function<Tensor(ProgramBuilder &, Tensor)> layers;
  std::vector<std::string> still = {}; // parameters that no direction moves
};

/// Dense layers `fc1` [6, 5] and `fc2` [4, 6] with biases, and a layer norm
/// `norm` between them.
Network denseNetwork();
/// Two dense layers with biases and nothing else.
Network plainNetwork();
/// Convolutions `conv1` [6, 2, 3, 3] with a stride and `conv2` [6, 3, 2, 2] in
/// two groups, and a dense layer `fc` [3, 24].
Network imageNetwork();
/// An embedding `table` [7, 5], a layer norm `norm`, and dense layers `hidden`
/// [6, 5] and `head` [7, 6]; there is a label for each of 4 tokens.
Network tokenNetwork();

/// A recipe with plain descent and preconditioning by the given keys.
Json preconditioned(Json precondition, Json more = Json::object());
/// The same without preconditioning.
Json plain(Json more = Json::object());
/// The same with steps in a subspace of `components` random directions.
Json reduced(int64_t components, Json more = Json::object());

/// The text of a network's program for a batch, with a random basis where the
/// recipe has `dim_reduce`. The test fails where it cannot be built.
std::string textOf(const Network &network, const Json &recipe,
                   int64_t batch = kSamples);

/// What the compiler says about a recipe that it refuses.
std::string refusalOf(const Network &network, const Json &recipe);

/// A training run. Equal names have equal first weights, whatever the recipe is
/// and however large batches are.
class Trained {
public:
  Trained(const Network &network, const Json &recipe, int64_t batch = kSamples,
          runtime::SessionOptions options = {});
  /// Another run of the same artifact.
  explicit Trained(const Trained &other, runtime::SessionOptions options = {});

  /// Trains on the samples of an update, from one of them on, and returns the
  /// variant of the step that ran.
  std::string step(int64_t update, int64_t first = 0);
  /// Trains on all samples of these updates, once each.
  std::vector<std::string> steps(int64_t begin, int64_t end);
  /// Trains on samples that overflow.
  std::string overflow();

  NamedTensors inputs(int64_t update, int64_t first = 0) const;
  /// Trains on inputs that a test has made.
  std::string stepOn(const NamedTensors &inputs);

  NamedTensors states() const { return run_.states(); }
  std::vector<double> state(const std::string &name) const {
    return run_.states().at(name).floats;
  }
  int64_t count(const std::string &name) const {
    return run_.states().at(name).integers.at(0);
  }
  /// The parameters alone.
  NamedTensors parameters() const;
  double loss() const { return loss_; }
  Compiled &compiled() { return run_; }
  runtime::Session &session() { return run_.session(); }

private:
  Network network_;
  int64_t batch_;
  mutable Compiled run_;
  double loss_ = 0;
};

/// The states that are equal to the bit by name, but those whose names begin
/// with one of `except`; names what differs.
void expectSame(const NamedTensors &found, const NamedTensors &expected,
                const std::vector<std::string> &except = {});
/// Each tensor within a part of its largest element.
void expectClose(const NamedTensors &found, const NamedTensors &expected,
                 double part);
void expectFinite(const NamedTensors &found);

/// b - a, element by element.
std::vector<double> change(const std::vector<double> &a,
                           const std::vector<double> &b);
double normOf(const std::vector<double> &numbers);

/// G^-1 g A^-1 by the inverses that a run keeps of a weight: of a dense layer
/// or a convolution [outputs, inputs...], or of an embedding [rows, width].
std::vector<double> directionOf(const NamedTensors &states,
                                const std::string &weight,
                                const HostTensor &gradient, int64_t groups = 1);

} // namespace gradus::curvature
