// The order in which an artifact is checked. Each level has its own file.

#include "runtime/artifact/verify.h"

#include "runtime/flat.h"
#include "runtime/status.h"

namespace gradus::runtime {

Status verifyArtifact(std::span<const uint8_t> file, ReadOptions options) {
  GRADUS_TRY(verifySections(file, options));
  const artifact::Header &header =
      *artifact::GetSizePrefixedHeader(file.data());
  GRADUS_TRY(verifyProgram(header));
  for (size_t i = 0; i < countOf(header.plans()); ++i) {
    const artifact::Plan *plan = header.plans()->Get(i);
    GRADUS_TRY(at(verifyPlan(header, *plan, kernelsOf(file, *plan)), "plan ", i,
                  " (", textOf(plan->target()), ")"));
  }
  return Status();
}

} // namespace gradus::runtime
