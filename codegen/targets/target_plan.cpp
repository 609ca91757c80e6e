// Computes the size of a plan's code.

#include "codegen/targets/target_plan.h"

using namespace gradus;

int64_t TargetPlan::codeBytes() const {
  if (auto *cpu = std::get_if<CpuCode>(&code))
    return cpu->code.size();
  size_t largest = 0;
  for (const GpuImage &image : std::get<GpuImages>(code).images)
    largest = std::max(largest, image.code.size());
  return largest;
}
