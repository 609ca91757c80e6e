// The compiler as the tool calls it: import, recipe, passes, codegen, in order.

#include "frontends/compiler/compiler.h"

#include "frontends/recipe/recipe.h"

namespace gradus::compiler {
namespace {

class Library final : public Compiler {
public:
  absl::StatusOr<Result> compile(const Request &request) override {
    return absl::UnimplementedError("compile: not built yet");
  }

  absl::StatusOr<ModelInfo> inspect(const Request &request) override {
    return absl::UnimplementedError("inspect: not built yet");
  }

  std::string recipeSchema() override { return recipe::schema(); }

  absl::StatusOr<std::string>
  readRecipe(const std::string &path, const std::vector<std::string> &overrides) override {
    auto recipe = recipe::readFile(path, overrides);
    if (!recipe.ok())
      return recipe.status();
    return recipe->json;
  }

  std::vector<std::string> stages() override { return {}; }
};

} // namespace
} // namespace gradus::compiler

extern "C" __attribute__((visibility("default"))) gradus::compiler::Compiler *
gradus_compiler() {
  static gradus::compiler::Library library;
  return &library;
}
