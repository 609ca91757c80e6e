// The headers that almost every source of the code generator includes.
#pragma once
#include "codegen/plan/plan.h"
#include "ir/precompiled.h"
