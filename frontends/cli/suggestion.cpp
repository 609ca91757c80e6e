// Words of suggestions; what is near is said in recipe/nearest.h.

#include "frontends/cli/suggestion.h"

#include "recipe/nearest.h"

namespace gradus::cli {

std::string suggestion(const std::string &word,
                       const std::vector<std::string> &known) {
  std::string best(nearest(word, known));
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

} // namespace gradus::cli
