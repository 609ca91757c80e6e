// Bases that recipes name, for the compiler, which reads no files of tensors.
#pragma once

#include "frontends/compiler/compiler.h"

namespace gradus::cli {

/// Lets a request open bases: files of `gradus basis` that are whole, whose
/// rows are orthonormal and fewer than the checkpoints they were made of.
void openBases(compiler::Request &request);

} // namespace gradus::cli
