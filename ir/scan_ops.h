// Loops over steps: include this beside gradus.h to build or find them.
#pragma once

#include "ir/gradus.h"

#define GET_OP_CLASSES
#include "ir/scan_ops.h.inc"
