// Checks a whole artifact before any of it is used.
//
// After verifyArtifact every index, offset and size in the file may be relied
// upon: no command can reach outside its buffers. What machine code does is not
// checked. Each level has its function, which puts its place in front of an
// error.

#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/artifact/command_uses.h"

#include "runtime/status.h"

#include <cstdint>
#include <span>

namespace gradus::runtime {

/// Runs all checks below, in order, on a file whose header has been verified.
/// The bytes of the weights are not touched: Artifact::readWeights checks them.
Status verifyArtifact(std::span<const uint8_t> file, ReadOptions options);

/// The size of the header, as the first bytes of a file state it.
StatusOr<size_t> headerSize(std::span<const uint8_t> file);

/// Verifies the size-prefixed header: identifier, structure, version, hash.
Status verifyHeader(std::span<const uint8_t> file);

/// Verifies a section's hash.
Status verifyHash(uint64_t found, uint64_t expected);

/// Verifies sections: range, alignment, overlap, hashes, and zeros everywhere
/// between them.
Status verifySections(std::span<const uint8_t> file, ReadOptions options);

/// Verifies states, graphs and schedules.
Status verifyProgram(const artifact::Header &header);

/// Verifies a plan: memory, kernels, graph plans and their commands.
Status verifyPlan(const artifact::Header &header, const artifact::Plan &plan,
                  const artifact::CodeHeader *kernels);

/// Verifies a command of a plan whose buffers and kernels are verified.
Status verifyCommand(const artifact::Plan &plan,
                     const artifact::CodeHeader *kernels,
                     const artifact::Command &command);

/// Verifies that a graph begins each of its sums over ranks, and waits for it,
/// once and in order, and uses their memory for nothing else meanwhile. Its
/// commands have been verified.
Status verifySums(const artifact::Plan &plan,
                  const artifact::CodeHeader *kernels,
                  const artifact::GraphPlan &graph);

/// Verifies a library command: tensors within their buffers, shapes that fit.
Status verifyLibrary(const artifact::Plan &plan,
                     const artifact::LibraryCommand &command);

/// Verifies the kernel that a library command names, if it names one. The
/// command has been verified.
Status verifyEpilogue(const artifact::Plan &plan,
                      const artifact::CodeHeader *kernels,
                      const artifact::LibraryCommand &command);

/// Verifies that the buffer `number` exists and, with `written`, may be
/// written.
Status verifyBuffer(const artifact::Plan &plan, uint32_t number, bool written);

/// Verifies that a buffer may be used so, and has the bytes. `of` says in words
/// what they are of: "9 items".
template <typename... Words>
Status verifyUse(const artifact::Plan &plan, const BufferUse &use,
                 const Words &...of) {
  // A use that may write is not refused, as it is unknown whether it does.
  GRADUS_TRY(verifyBuffer(plan, use.buffer, use.isWritten && !use.isRead));
  uint64_t has = plan.buffers()->Get(use.buffer)->size();
  if (use.bytes > has)
    return invalid("its buffer has ", has, " bytes, too few for ", of...);
  return Status();
}

/// The kernels of a plan; null if it has none. Needs verified sections.
const artifact::CodeHeader *kernelsOf(std::span<const uint8_t> file,
                                      const artifact::Plan &plan);

} // namespace gradus::runtime
