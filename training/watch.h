// Statistics of values inside a step: of a state, of a parameter's gradient, of
// the result of a node of the model; of several turns (Session::turns) those of
// the last.

#pragma once

#include "runtime/session/session.h"
#include "training/observer.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gradus::training {

/// Statistics of the finite elements; NaN if there are none.
struct Statistics {
  double mean = 0, std = 0, min = 0, max = 0;
  int64_t nonfinite = 0; // the number of other elements
};

Statistics statisticsOf(const runtime::TensorType &type, const void *data);

/// Returns what an error adds for a `name` that is none of the `known` ones.
using Advice = std::function<std::string(
    const std::string &name, const std::vector<std::string> &known)>;

/// Adds its figures to a step's report, for the observers after it. A trainer
/// with a watch has pieces of one step (TrainerOptions::longestPiece).
class Watch : public Observer {
public:
  /// Finds each name among the session's states and the nodes of its graph
  /// `train`, whose steps are slower from now on, as long as this lives. Fails
  /// for an unknown name. The session must outlive this.
  static runtime::StatusOr<std::unique_ptr<Watch>>
  create(runtime::Session &session, const std::vector<std::string> &names,
         const Advice &advice = {});
  ~Watch() override;
  Watch(const Watch &) = delete;

  runtime::Status onStep(StepReport &report) override;
  /// The figures of the last step: "conv1.weight.mean",
  /// "conv1.weight.gradient.std", ...
  runtime::StatusOr<std::vector<Metric>> figures() const;

private:
  struct Value {
    std::string name;
    int state = -1; // or seen within the step
    bool seen = false;
    Statistics statistics;
  };
  /// The buffer of a value before a command of a graph runs.
  struct Place {
    size_t graph, command;
    uint32_t buffer;
    size_t value;
  };

  explicit Watch(runtime::Session &session);
  runtime::Status find(const std::string &name, const Advice &advice);
  bool findOutput(size_t graph, const std::string &name, size_t value);
  void findGradient(size_t graph, int state, size_t value);
  runtime::StatusOr<bool> findNode(size_t graph, const std::string &name,
                                   size_t value);
  runtime::StatusOr<uint32_t> resultOf(size_t graph, size_t command,
                                       const std::string &node);
  std::vector<std::string> knownNames() const;
  const artifact::GraphPlan &planOf(size_t graph) const;
  void look(size_t graph, size_t command);

  runtime::Session &session_;
  std::vector<size_t> graphs_; // the graphs that train
  std::vector<Value> values_;
  std::vector<Place> places_;
};

} // namespace gradus::training
