// Writes the table of recipe fields as a JSON schema, for editors and people.

#include "frontends/message.h"
#include "frontends/recipe/fields.h"
#include "frontends/recipe/recipe.h"

#include <nlohmann/json.hpp>

namespace gradus::recipe {
namespace {

using Json = nlohmann::ordered_json;

Json describe(const Field &field);

Json object(const std::vector<Field> &fields) {
  Json properties = Json::object();
  for (const Field &field : fields)
    properties[field.key] = describe(field);
  return {{"type", "object"},
          {"properties", properties},
          {"additionalProperties", false}};
}

/// The names of the choices that are built, or of those that are not.
std::vector<std::string_view> names(const std::vector<Choice> &choices,
                                    bool built) {
  std::vector<std::string_view> result;
  for (const Choice &choice : choices)
    if (choice.built == built)
      result.push_back(choice.name);
  return result;
}

/// What the reader takes; the rest is named in the description.
Json enumeration(const std::vector<Choice> &choices) {
  return {{"enum", names(choices, /*built=*/true)}};
}

/// One alternative per type; its name alone is short for its defaults.
Json variant(const std::vector<Choice> &choices) {
  Json alternatives = Json::array({enumeration(choices)});
  for (const Choice &choice : choices) {
    if (!choice.built)
      continue;
    Json alternative = object(choice.fields);
    alternative["properties"]["type"] = {{"const", choice.name}};
    alternative["required"] = {"type"};
    alternatives.push_back(alternative);
  }
  return {{"anyOf", alternatives}};
}

Json number(const Field &field, const char *type) {
  Json result = {{"type", type}};
  if (field.minimum != -Field::kNone)
    result["minimum"] = field.minimum;
  if (field.limit != Field::kNone)
    result["exclusiveMaximum"] = field.limit;
  return result;
}

Json sequence(const Field &field) {
  Json result = {{"type", "array"}, {"items", describe(field.fields[0])}};
  if (field.length) {
    result["minItems"] = field.length;
    result["maxItems"] = field.length;
  }
  return result;
}

Json shape(const Field &field) {
  switch (field.kind) {
  case Kind::boolean:
    return {{"type", "boolean"}};
  case Kind::text:
    return {{"type", "string"}};
  case Kind::bytes:
    return {{"type", Json::array({"string", "integer"})}};
  case Kind::integer:
    return number(field, "integer");
  case Kind::number:
    return number(field, "number");
  case Kind::choice:
    return enumeration(field.choices);
  case Kind::object:
    return object(field.fields);
  case Kind::variant:
    return variant(field.choices);
  case Kind::list:
    return sequence(field);
  case Kind::sizes:
    return {{"type", "object"},
            {"additionalProperties", number(field, "integer")}};
  }
  return {};
}

Json describe(const Field &field) {
  Json result = shape(field);
  if (field.nullable())
    result = {{"anyOf", Json::array({result, Json{{"type", "null"}}})}};
  std::string help(field.help);
  if (!field.only.empty())
    help += " (not built yet: only " + std::string(field.only) + " is)";
  if (auto unbuilt = names(field.choices, /*built=*/false); !unbuilt.empty())
    help += " (not built yet: " + joined(unbuilt) + ")";
  result["description"] = help;
  if (!field.key.empty())
    result["default"] = Json::parse(field.fallback);
  return result;
}

} // namespace

std::string schema() {
  Json result = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Gradus recipe"}};
  result.update(describe(recipeField()));
  return result.dump(2) + "\n";
}

} // namespace gradus::recipe
