// The passes of codegen, with a program before and after each, in a file for
// each stage of pipeline.cpp, which has their order.
// docs/reference/codegen_passes.md is generated from these files.

include "codegen/stage_select.td"
include "codegen/stage_nests.td"
include "codegen/stage_fuse.td"
include "codegen/stage_kernels.td"
include "codegen/stage_schedule.td"
