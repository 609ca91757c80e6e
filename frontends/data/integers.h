// Which integers an input may hold: labels are classes, and what a model looks
// up lies in its table.

#pragma once

#include "frontends/data/dataset.h"
#include "runtime/session.h"

#include <map>
#include <optional>

namespace gradus::data {

/// What the values of an input of labels may be, and what they count.
struct LabelRule {
  int64_t classes = 0;           // in [0, classes); 0: not checked
  std::optional<int64_t> ignore; // also allowed: not a label at all
  std::vector<double> weights;   // of the classes; empty: all are 1
  std::string advice = {};       // where labels do not fit
};

/// By the name of the input.
using LabelRules = std::map<std::string, LabelRule>;

/// Whether integerAt() reads elements of this type.
bool isInteger(runtime::DType dtype);
int64_t integerAt(const Column &column, size_t index);

/// How many classes there are, and how many of them have a label.
struct ClassCount {
  int64_t found = 0, known = 0;
};

/// Of labels that are 0 to `known` - 1 or none. Fails where their file was cut
/// short.
runtime::StatusOr<ClassCount> countClasses(const Column &column, int64_t known);

/// Names the first sample with a value that the input cannot take, or that the
/// file lacks.
runtime::Status checkIntegers(const Column &column,
                              const runtime::TensorInfo &input,
                              const LabelRules &labels);

} // namespace gradus::data
