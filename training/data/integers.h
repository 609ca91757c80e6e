// Checks integers of inputs: labels must be classes, and indices must be inside
// the table that a model looks them up in.

#pragma once

#include "runtime/session/session.h"
#include "training/data/dataset.h"

#include <map>
#include <optional>

namespace gradus::data {

/// Allowed values of an input of labels, and their weights.
struct LabelRule {
  int64_t classes = 0;           // in [0, classes); 0: not checked
  std::optional<int64_t> ignore; // also allowed, means no label
  std::vector<double> weights;   // for each class; empty: all are 1
  std::string advice = {};       // added to errors about labels
};

/// Rules by the name of the input.
using LabelRules = std::map<std::string, LabelRule>;

/// Whether integerAt() reads elements of this type.
bool isInteger(runtime::DType dtype);
int64_t integerAt(const Column &column, size_t index);

/// The number of classes, and how many of them occur as labels.
struct ClassCount {
  int64_t found = 0, known = 0;
};

/// Counts the classes of labels that are 0 to `known` - 1 or ignored. Fails if
/// their file was cut short.
runtime::StatusOr<ClassCount> countClasses(const Column &column, int64_t known);

/// Names the first sample with a value that the input does not accept, or that
/// the file lacks.
runtime::Status checkIntegers(const Column &column,
                              const runtime::TensorInfo &input,
                              const LabelRules &labels);

} // namespace gradus::data
