// A pattern without a match would change nothing, and nobody would notice.

#include "frontends/compiler/parameter_patterns.h"

#include "messages/message.h"
#include "recipe/nearest.h"
#include "recipe/patterns.h"

using namespace mlir;

namespace gradus::compiler {

/// The names of states that training may change or keep fixed.
static SmallVector<StringRef> namesOf(ProgramOp program) {
  SmallVector<StringRef> names;
  for (StateOp state : program.getBody().getOps<StateOp>())
    if (state.getRole() == Role::parameter || state.getRole() == Role::buffer)
      names.push_back(state.getSymName());
  return names;
}

absl::Status checkParameterPatterns(ProgramOp program,
                                    const recipe::Recipe &recipe) {
  SmallVector<StringRef> names = namesOf(program);
  for (const auto &[key, patterns] :
       {std::pair("trainable", &recipe.trainable), {"fixed", &recipe.fixed}})
    for (const std::string &text : *patterns) {
      if (text != "*" && llvm::none_of(names, [&](StringRef name) {
            return matchesPattern(text, name);
          }))
        return invalid("recipe: ", key, " has \"", text,
                       "\", which names no parameter of the model; it has, "
                       "nearest first: ",
                       nearestNames(text, names));
    }
  return absl::OkStatus();
}

} // namespace gradus::compiler
