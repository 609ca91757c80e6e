// Estimates the bytes that commands move to and from memory: each byte of a
// buffer counts once when it is read and once when it is written. Expected
// times and rates are computed from it.
#pragma once

#include "codegen/gpu/model.h"
#include "codegen/plan/plan.h"

#include <optional>

namespace gradus {

/// The bytes of a launch of `kernel`, on a GPU if there is a model of one. A
/// GPU's caches hold less for each of its many blocks than a processor's for
/// each core: where the rows that blocks work on do not fit, each nest that
/// reads a row counts there.
uint64_t trafficOf(plan::LaunchOp launch, plan::KernelOp kernel,
                   const std::optional<GpuModel> &gpu);
uint64_t trafficOf(plan::LibraryOp library);

} // namespace gradus
