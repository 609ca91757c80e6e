// gradus recipe: lists the keys of a recipe, and checks recipes.

#include "tool/commands.h"
#include "tool/compiler_library.h"
#include "tool/failure.h"
#include "tool/key_flags.h"
#include "tool/text.h"

#include <cstdio>

namespace gradus::cli {
namespace {

struct RecipeOptions {
  compiler::Request request;
  bool schema = false;
};

constexpr const char *kFooter = R"(Examples:
  gradus recipe --schema               the JSON schema: every key and its default
  gradus recipe recipe.json            checks a recipe, prints it with all defaults
  gradus recipe recipe.json --set optimizer.learning_rate=0.1 --ema
  gradus recipe --plugin libgradient_noise.so    with the keys of a plug-in)";

void run(RecipeOptions &options) {
  if (options.schema)
    return (void)std::puts(compilerLibrary().recipeSchema().c_str());
  compiler::CheckedRecipe recipe =
      take(compilerLibrary().readRecipe(options.request));
  for (const std::string &remark : recipe.remarks)
    warn("recipe: " + remark);
  std::puts(recipe.json.c_str());
}

} // namespace

void addRecipe(CLI::App &app) {
  auto options = std::make_shared<RecipeOptions>();
  CLI::App *command =
      app.add_subcommand("recipe", "The keys of a recipe; checks one");
  command->footer(kFooter);
  command->add_flag("--schema", options->schema, "Print the JSON schema");
  command->add_option("recipe", options->request.recipe.file,
                      "A recipe to check; without it, the defaults");
  command
      ->add_option("--set", options->request.recipe.overrides,
                   "KEY=VALUE over the recipe's")
      ->allow_extra_args(false);
  command
      ->add_option("--plugin", options->request.plugins,
                   "A shared library with passes, for its keys")
      ->allow_extra_args(false);
  addKeyFlags(*command, options->request);
  command->callback([options] { run(*options); });
}

} // namespace gradus::cli
