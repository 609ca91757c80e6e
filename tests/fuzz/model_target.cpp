// ONNX models: looked into, and made a training step. One in eight is compiled
// to an artifact, which runs once; of the others the stages up to `optimize`
// are enough, which take most that an importer can get wrong and little time.

#include "target.h"

#include "frontends/compiler/compiler.h"
#include "runtime/session/session.h"
#include "tests/end_to_end/model_mutations.h"

#include <fstream>
#include <functional>
#include <string_view>

extern "C" gradus::compiler::Compiler *gradus_compiler();

namespace gradus::fuzz {
namespace {

constexpr size_t kMostToRun = 1 << 24; // bytes of an artifact, and of its arena

std::string textOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// Runs every graph once on zeros, if that is little work.
void runOnce(const std::vector<char> &bytes) {
  if (bytes.size() > kMostToRun)
    return;
  auto artifact = runtime::Artifact::fromBytes(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, "fuzz");
  if (!artifact.ok())
    return;
  auto session = runtime::Session::create(*artifact, {.threads = 1});
  if (!session.ok() || (*session)->memory().arena > kMostToRun)
    return;
  for (size_t graph = 0; graph < (*session)->graphs().size(); ++graph)
    (void)(*session)->step(static_cast<int>(graph));
}

} // namespace

void prepare(const std::vector<std::string> &) {}

Outcome tryInput(std::span<const uint8_t> input) {
  std::string model = textOf(input);
  size_t hash = std::hash<std::string_view>()(model);
  compiler::Request request;
  request.model = ownFolder() + "/model.onnx";
  request.recipe.text = test::recipeFor(
      model, hash % 2 ? R"({"loss": {"type": "mse"}})"
                      : R"({"loss": {"type": "softmax_cross_entropy"}})");
  request.plan.threads = 1;
  request.wanted.stopAfter = hash / 2 % 8 ? "optimize" : "";
  std::ofstream(request.model, std::ios::binary) << model;
  (void)gradus_compiler()->inspect(request);
  auto result = gradus_compiler()->compile(request);
  if (!result.ok())
    return {Outcome::refused, std::string(result.status().message())};
  runOnce(result->artifact);
  return {};
}

} // namespace gradus::fuzz
