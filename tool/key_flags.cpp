// Flags of keys; see key_flags.h.

#include "tool/key_flags.h"

#include "tool/command_line.h"
#include "tool/compiler_library.h"
#include "tool/failure.h"

#include <cctype>

namespace gradus::cli {
namespace {

/// Words for a value that is none: an empty text, or the next option.
std::string refuseNone(const std::string &value) {
  if (value.empty())
    return "expected a value, found an empty text";
  bool isOption =
      value[0] == '-' && value.size() > 1 &&
      (value[1] == '-' || std::isalpha(static_cast<unsigned char>(value[1])));
  return isOption ? "expected a value, found the option " + value : "";
}

/// A flag that would stand for two things is refused: plug-ins name their keys.
void refuseTwins(const CLI::App &command, const std::string &name) {
  if (command.get_option_no_throw(name))
    throw badInput("--plugin: a plug-in has a key with the flag ", name,
                   ", which is an option of ", command.get_name(), " already");
}

void add(CLI::App &command, const compiler::RecipeFlag &flag,
         std::string &value) {
  refuseTwins(command, flag.name);
  if (flag.form.empty())
    command.add_flag(flag.name, value, flag.help)->group("Keys");
  else
    command.add_option(flag.name, value, flag.help)
        ->type_name(flag.form)
        ->check(refuseNone, "")
        ->group("Keys");
}

} // namespace

void addKeyFlags(CLI::App &command, compiler::Request &request) {
  command.preparse_callback([&command, &request](size_t) {
    if (compilerLibraryPath().empty())
      return; // The command itself says what is missing.
    compiler::Compiler &library = compilerLibrary();
    check(library.loadPlugins(valuesOf("--plugin")));
    for (const compiler::RecipeFlag &flag : library.recipeFlags())
      add(command, flag, request.recipe.keyFlags[flag.name]);
  });
}

} // namespace gradus::cli
