// The program that an artifact carries, for commands that read models.

#pragma once

#include "frontends/compiler/compiler.h"
#include "runtime/artifact/artifact.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace gradus::cli {

/// Holds the bytes that the request refers to.
class OpenedProgram {
public:
  OpenedProgram(std::shared_ptr<const runtime::Artifact> artifact,
                std::vector<uint8_t> weights)
      : artifact_(std::move(artifact)), weights_(std::move(weights)) {}

  const runtime::Artifact &artifact() const { return *artifact_; }
  compiler::CarriedProgram program() const;

private:
  std::shared_ptr<const runtime::Artifact> artifact_;
  std::vector<uint8_t> weights_;
};

/// If the request's model is an artifact, checks it as a whole and sets
/// `carried`; returns nothing for other files. Throws a Failure.
std::optional<OpenedProgram> openProgram(compiler::Request &request);

} // namespace gradus::cli
