// How recipes are changed.

#include "structure_mutator.h"

#include "tests/end_to_end/model_mutations.h"

namespace gradus::fuzz {

std::string edited(const std::string &input, uint64_t seed) {
  return test::editedRecipe(input, seed);
}

std::string grafted(const std::string &input, const std::string &donor,
                    uint64_t seed) {
  return test::graftedRecipe(input, donor, seed);
}

} // namespace gradus::fuzz
