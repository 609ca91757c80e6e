// Variants as schedules of the artifact say them; see variants.h.

#include "runtime/session/variants.h"

#include "runtime/flat.h"
#include "runtime/well_known.h"

namespace gradus::runtime {

size_t Variants::graphAt(int64_t step) const {
  for (size_t i = 0; i < graphs.size(); ++i)
    if (step % every[i] == at[i])
      return graphs[i];
  return graphs.back();
}

Variants variantsOf(const artifact::Schedule &schedule) {
  Variants variants{valuesOf(schedule.variants()), valuesOf(schedule.every()),
                    valuesOf(schedule.at()), textOf(schedule.counter())};
  variants.every.resize(variants.graphs.size(), 1);
  variants.at.resize(variants.graphs.size(), 0);
  if (variants.counterName.empty())
    variants.counterName = well_known::kStep;
  return variants;
}

} // namespace gradus::runtime
