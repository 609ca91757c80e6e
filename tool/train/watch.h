// Statistics of values inside a step, as `train --watch` logs them: of a state,
// of a parameter's gradient, of the result of a node of the model.

#pragma once

#include "runtime/session/session.h"
#include "tool/evaluate/evaluation.h"

#include <string>
#include <vector>

namespace gradus::cli {

/// Statistics of the finite elements; NaN if there are none.
struct Statistics {
  double mean = 0, std = 0, min = 0, max = 0;
  int64_t nonfinite = 0; // the number of other elements
};

Statistics statisticsOf(const runtime::TensorType &type, const void *data);

class Watch {
public:
  /// Finds each name among the session's states and the nodes of its graph
  /// `train`, whose steps are slower from now on. Throws a Failure with a
  /// suggestion for an unknown name.
  Watch(runtime::Session &session, const std::vector<std::string> &names);

  /// The figures of the last step: "conv1.weight.mean",
  /// "conv1.weight.gradient.std", ...
  std::vector<Metric> figures() const;

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

  void find(const std::string &name);
  bool findOutput(size_t graph, const std::string &name, size_t value);
  void findGradient(size_t graph, int state, size_t value);
  bool findNode(size_t graph, const std::string &name, size_t value);
  uint32_t resultOf(size_t graph, size_t command, const std::string &node);
  std::vector<std::string> knownNames() const;
  const artifact::GraphPlan &planOf(size_t graph) const;
  void look(size_t graph, size_t command);

  runtime::Session &session_;
  std::vector<size_t> graphs_; // the graphs that train
  std::vector<Value> values_;
  std::vector<Place> places_;
};

} // namespace gradus::cli
