// The compiler reads no artifacts, so it is given what it needs of one.

#include "tool/carried_program.h"

#include "runtime/flat.h"
#include "runtime/tensor_type.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"

#include <algorithm>

using namespace gradus::runtime;

namespace gradus::cli {
namespace {

std::vector<uint8_t> weightsOf(const Artifact &artifact) {
  std::vector<uint8_t> weights(
      artifact.bytes(artifact.header().weights()).size());
  auto take = [&](uint64_t offset, std::span<const uint8_t> piece) {
    std::copy(piece.begin(), piece.end(), weights.begin() + offset);
    return Status();
  };
  check(at(artifact.readWeights(take), artifact.path()));
  return weights;
}

} // namespace

/// The artifact was verified: initial values are within the weights.
compiler::CarriedProgram OpenedProgram::program() const {
  const artifact::Header &header = artifact_->header();
  compiler::CarriedProgram program;
  program.recipe = textOf(header.recipe());
  if (const artifact::Program *section = header.program()) {
    program.compiler = textOf(section->compiler());
    program.bytecode = artifact_->bytes(section->bytecode());
  }
  for (size_t i = 0; i < countOf(header.states()); ++i) {
    const artifact::State &state = *header.states()->Get(i);
    if (!state.has_initial())
      continue;
    TensorType type = typeOf(state.type());
    program.values.push_back(
        {textOf(state.name()), nameOf(type.dtype), type.shape,
         std::span(weights_).subspan(state.initial(), *bytesOf(type))});
  }
  return program;
}

std::optional<OpenedProgram> openProgram(compiler::Request &request) {
  if (!isArtifact(request.model))
    return {};
  auto artifact = take(Artifact::open(request.model));
  std::vector<uint8_t> weights = weightsOf(*artifact);
  OpenedProgram opened(std::move(artifact), std::move(weights));
  request.carried = opened.program();
  return opened;
}

} // namespace gradus::cli
