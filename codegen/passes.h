// The passes of codegen, declared in passes.td and ordered in pipeline.cpp.
#pragma once

#include "codegen/plan.h"

#include "mlir/Pass/Pass.h"

namespace gradus {
#define GEN_PASS_DECL
#include "codegen/passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/passes.h.inc"
} // namespace gradus
