// Settings of removing batch normalizations: the recipe's `less_bn`.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct LessBnSettings {
  std::vector<std::string> keep; // patterns of normalizations that stay
};

const recipe::Method<LessBnSettings> &lessBn();

} // namespace gradus
