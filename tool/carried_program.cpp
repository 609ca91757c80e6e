// The compiler reads no artifacts, so it is given what it needs of one.

#include "tool/carried_program.h"

#include "runtime/flat.h"
#include "runtime/tensor_type.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"

using namespace gradus::runtime;

namespace gradus::cli {

compiler::CarriedProgram OpenedProgram::program() const {
  const artifact::Header &header = artifact_->header();
  compiler::CarriedProgram program;
  program.recipe = textOf(header.recipe());
  if (const artifact::Program *section = header.program()) {
    program.compiler = textOf(section->compiler());
    program.bytecode = artifact_->bytes(section->bytecode());
  }
  for (const NamedTensor &tensor : values_.tensors)
    program.values.push_back({tensor.name, nameOf(tensor.type.dtype),
                              tensor.type.shape, tensor.data});
  return program;
}

std::optional<OpenedProgram> openProgram(compiler::Request &request) {
  if (!isArtifact(request.model))
    return {};
  auto artifact = take(Artifact::open(request.model));
  InitialValues values = take(initialValuesOf(*artifact));
  OpenedProgram opened(std::move(artifact), std::move(values));
  request.carried = opened.program();
  return opened;
}

} // namespace gradus::cli
