// The program that an artifact carries, for commands that read models.

#pragma once

#include "frontends/compiler/compiler.h"
#include "runtime/artifact/artifact.h"
#include "runtime/session/initial_values.h"

#include <memory>
#include <optional>

namespace gradus::cli {

/// Holds the bytes that the request refers to.
class OpenedProgram {
public:
  OpenedProgram(std::shared_ptr<const runtime::Artifact> artifact,
                runtime::InitialValues values)
      : artifact_(std::move(artifact)), values_(std::move(values)) {}

  const runtime::Artifact &artifact() const { return *artifact_; }
  compiler::CarriedProgram program() const;

private:
  std::shared_ptr<const runtime::Artifact> artifact_;
  runtime::InitialValues values_;
};

/// If the request's model is an artifact, checks it as a whole and sets
/// `carried`; returns nothing for other files. Throws a Failure.
std::optional<OpenedProgram> openProgram(compiler::Request &request);

} // namespace gradus::cli
