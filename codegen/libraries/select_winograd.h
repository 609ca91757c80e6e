// Chooses convolutions that Winograd's algorithm computes faster than a
// library.
#pragma once

#include "codegen/libraries/select_epilogue.h"
#include "codegen/plan/plan.h"
#include "ir/gradus.h"

namespace gradus {

/// Whether a program has convolutions, or gradients of such.
bool hasConvolutions(ProgramOp program);

/// Whether a program has convolutions and leaves the choice of their algorithm
/// to `select`: Winograd's rounds more than a direct convolution.
bool leavesChoiceOfConvolutions(ProgramOp program);

/// The side of the tiles by which the algorithm computes a convolution, 0: by
/// none, and the reason for either.
struct WinogradTile {
  int64_t tile = 0;
  std::string reason;
};

/// The tiles for a convolution with its epilogue. `tiles` says whether the
/// library multiplies tiles of bf16.
WinogradTile winogradTile(const Candidate &found, bool tiles);

/// Replaces the candidate by `plan.winograd` on blocked channels, between
/// reorders.
plan::WinogradOp emitWinograd(Candidate &found, int64_t tile);

} // namespace gradus
