// The passes of codegen, declared in passes.td and ordered in pipeline.cpp.
#pragma once

#include "codegen/plan/plan.h"

#include "mlir/Pass/Pass.h"

namespace gradus {
#define GEN_PASS_DECL
#include "codegen/plan/passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/plan/passes.h.inc"
} // namespace gradus
