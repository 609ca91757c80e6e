// Checks a whole artifact before any of it is used.
//
// After verifyArtifact every index, offset and size in the file may be relied
// upon: no command can reach outside its buffers. What is not checked is what
// the machine code does. One function a level; each puts its place in front of
// what it found wrong.

#pragma once

#include "runtime/artifact.h"

#include "runtime/status.h"

#include <cstdint>
#include <span>

namespace gradus::runtime {

/// The graph that makes states of role `copy` of others.
constexpr const char *kCopiesGraph = "round_weights";

/// All of the below, in order, of a file whose header has been verified. The
/// bytes of the weights are not touched: Artifact::readWeights checks them.
Status verifyArtifact(std::span<const uint8_t> file, ReadOptions options);

/// The bytes that a file's first ones say that its header has.
StatusOr<size_t> headerSize(std::span<const uint8_t> file);

/// The size-prefixed header: identifier, structure, version, hash.
Status verifyHeader(std::span<const uint8_t> file);

/// A section's hash.
Status verifyHash(uint64_t found, uint64_t expected);

/// Sections: range, alignment, overlap, hashes; zeros everywhere between them.
Status verifySections(std::span<const uint8_t> file, ReadOptions options);

/// States, graphs and schedules.
Status verifyProgram(const artifact::Header &header);

/// A plan: memory, kernels, graph plans and their commands.
Status verifyPlan(const artifact::Header &header, const artifact::Plan &plan,
                  const artifact::CodeHeader *kernels);

/// A command of a plan that is right so far.
Status verifyCommand(const artifact::Plan &plan,
                     const artifact::CodeHeader *kernels,
                     const artifact::Command &command);

/// The library command: tensors within their buffers, shapes that fit.
Status verifyLibrary(const artifact::Plan &plan,
                     const artifact::LibraryCommand &command);

/// Whether a buffer of that number exists and, where `written`, may be.
Status verifyBuffer(const artifact::Plan &plan, uint32_t number, bool written);

/// The kernels of a plan; null where it has none. Needs verified sections.
const artifact::CodeHeader *kernelsOf(std::span<const uint8_t> file,
                                      const artifact::Plan &plan);

} // namespace gradus::runtime
