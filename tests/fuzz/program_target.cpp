// Forged programs in artifacts: every hash is computed again. What the reader
// takes goes through all passes.

#include "target.h"

#include "runtime/artifact/artifact.h"
#include "tests/runtime/test_artifact.h"
#include "tool/carried_program.h"

#include <fstream>

extern "C" gradus::compiler::Compiler *gradus_compiler();

namespace gradus::fuzz {

void prepare(const std::vector<std::string> &) {}

Outcome tryInput(std::span<const uint8_t> input) {
  Bytes file(input.begin(), input.end());
  test::reseal(file);
  if (!runtime::Artifact::fromBytes(file, "forged").ok())
    return {Outcome::skipped, "is forged elsewhere"};
  compiler::Request request;
  request.model = ownFolder() + "/forged.gradus";
  request.wanted.stopAfter = "optimize";
  std::ofstream(request.model, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()), file.size());
  auto opened = cli::openProgram(request);
  auto result = gradus_compiler()->compile(request);
  if (!result.ok())
    return {Outcome::refused, std::string(result.status().message())};
  return {};
}

} // namespace gradus::fuzz
