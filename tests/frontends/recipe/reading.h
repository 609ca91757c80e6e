// Reads recipes for tests: what is accepted as JSON, what is refused as words.
#pragma once

#include "frontends/recipe/recipe.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gradus::recipe {

inline nlohmann::json accepted(std::string_view text,
                               const Overrides &overrides = {}) {
  auto recipe = read(text, "r.json", overrides);
  EXPECT_TRUE(recipe.ok()) << recipe.status();
  return recipe.ok() ? nlohmann::json::parse(recipe->json) : nlohmann::json();
}

inline std::string refused(std::string_view text,
                           const Overrides &overrides = {}) {
  auto recipe = read(text, "r.json", overrides);
  EXPECT_FALSE(recipe.ok());
  return std::string(recipe.status().message());
}

} // namespace gradus::recipe
