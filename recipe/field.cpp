// Fields, and those that several objects of the recipe have; see field.h.

#include "recipe/field.h"

namespace gradus::recipe {

Choice::Choice(std::string_view name) : name(name) {}
Choice::Choice(std::string_view name, std::vector<Field> fields)
    : name(name), fields(std::move(fields)) {}

std::string_view Field::fallbackUnder(std::string_view framework) const {
  for (const FallbackUnder &other : elsewhere)
    if (other.framework == framework)
      return other.fallback;
  return fallback;
}

Field Field::under(std::initializer_list<std::string_view> frameworks,
                   std::string_view fallback) const {
  Field changed = *this;
  for (std::string_view framework : frameworks)
    changed.elsewhere.push_back({framework, fallback});
  return changed;
}

Field patterns(std::string_view key, std::string_view fallback,
               std::string_view help) {
  return Field{key, Kind::list, fallback, help}.of(
      Fields{{"", Kind::text, "\"\"", "a pattern; * stands for any text"}});
}

static Field frameworks(std::string_view fallback, std::string_view help) {
  return Field{"compat", Kind::choice, fallback, help}.among(
      {{"pytorch"}, {"mindspore"}, {"singa"}, {"timm"}});
}

Field compat(std::string_view help) { return frameworks("null", help); }

const Field &compatKey() {
  static const Field key =
      frameworks("\"pytorch\"", "whose rule applies where frameworks differ");
  return key;
}

} // namespace gradus::recipe
