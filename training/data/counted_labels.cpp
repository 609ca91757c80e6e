// Counts labels in the data set and in batches; see counted_labels.h.

#include "training/data/counted_labels.h"

#include "training/data/guarded_read.h"

#include <algorithm>

using namespace gradus::runtime;

namespace gradus::data {

bool CountedLabels::areCounted(const LabelRule &rule, DType dtype) {
  return (rule.ignore || !rule.weights.empty()) &&
         (dtype == DType::i64 || dtype == DType::i32);
}

/// Calls `visit` with each label that is not ignored.
template <typename Visit>
runtime::Status CountedLabels::eachLabel(const SampleOrder &order,
                                         int64_t first, int64_t count,
                                         Visit visit) const {
  volatile int64_t reached = first; // siglongjmp may leave the loop
  bool whole = readsWhole([&] {
    for (int64_t sample = first; sample < first + count; ++sample) {
      reached = sample;
      int64_t begin = order.inWhole(sample) * input_.perSample;
      for (int64_t i = begin; i < begin + input_.perSample; ++i)
        if (int64_t label = integerAt(*column_, i); label != rule_.ignore)
          visit(label);
    }
  });
  return whole ? runtime::Status()
               : cutShort(column_->name, order.inWhole(reached));
}

runtime::StatusOr<int64_t> CountedLabels::count(const SampleOrder &order,
                                                int64_t first,
                                                int64_t count) const {
  int64_t counted = 0;
  GRADUS_TRY(eachLabel(order, first, count, [&](int64_t) { ++counted; }));
  return counted;
}

runtime::StatusOr<double> CountedLabels::weight(const SampleOrder &order,
                                                int64_t first,
                                                int64_t count) const {
  double sum = 0;
  auto add = [&](int64_t label) { sum += weightOf(label); };
  GRADUS_TRY(eachLabel(order, first, count, add));
  return sum;
}

/// The weight of a label that is not ignored.
double CountedLabels::weightOf(int64_t label) const {
  if (rule_.weights.empty())
    return 1;
  bool known = label >= 0 && label < std::ssize(rule_.weights);
  return known ? rule_.weights[label] : 0;
}

double CountedLabels::batchWeight(const void *labels, int64_t samples) const {
  bool wide = input_.dtype == DType::i64;
  double sum = 0;
  for (int64_t i = 0; i < samples * input_.perSample; ++i) {
    int64_t label = wide ? static_cast<const int64_t *>(labels)[i]
                         : static_cast<const int32_t *>(labels)[i];
    if (label != rule_.ignore)
      sum += weightOf(label);
  }
  return sum;
}

void CountedLabels::ignore(void *labels, int64_t begin, int64_t end) const {
  begin *= input_.perSample;
  end *= input_.perSample;
  if (input_.dtype == DType::i64)
    std::fill(static_cast<int64_t *>(labels) + begin,
              static_cast<int64_t *>(labels) + end, *rule_.ignore);
  else
    std::fill(static_cast<int32_t *>(labels) + begin,
              static_cast<int32_t *>(labels) + end,
              static_cast<int32_t>(*rule_.ignore));
}

} // namespace gradus::data
