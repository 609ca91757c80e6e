// The passes of codegen, with a program before and after each, in a file for
// each stage of pipeline.cpp, which has their order.
// docs/reference/codegen_passes.md is generated from these files.

include "codegen/plan/stage_select.td"
include "codegen/plan/stage_nests.td"
include "codegen/plan/stage_fuse.td"
include "codegen/plan/stage_kernels.td"
include "codegen/plan/stage_schedule.td"
