// Chooses how many channels a block of the library's convolutions has: 16, as
// the library does by itself, or 8, which more widths of networks fill.
#pragma once

#include "codegen/libraries/select_epilogue.h"
#include "ir/gradus.h"

namespace gradus {

/// Whether a program has convolutions whose channels, or those of their groups,
/// fill blocks of 8 and not of 16.
bool mayHaveBlocksOf8(ProgramOp program);

/// What all convolutions of a graph together are estimated to take with blocks
/// of 16 channels, and with blocks of 8, in seconds.
struct BlockTimes {
  double of16 = 0, of8 = 0;
};

/// Adds a convolution to the times; a matmul adds nothing. `isWinograds`: with
/// blocks of 16 it is computed by Winograd's algorithm.
void addConvolution(BlockTimes &times, const Candidate &found,
                    bool isWinograds);

/// Whether blocks of 8 save enough. They need vectors of 8 lanes that do a half
/// of what those of 16 do in a half of the time.
bool prefersBlocksOf8(const BlockTimes &times);

/// Gives a convolution blocks of 8 channels, as far as the channels of its
/// tensors are multiples of 8; others stay as they are.
void useBlocksOf8(Candidate &found);

} // namespace gradus
