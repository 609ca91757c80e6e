// Writes the table of recipe fields as a JSON schema, for editors and people.

#include "frontends/recipe/fields.h"
#include "frontends/recipe/recipe.h"
#include "messages/json_text.h"
#include "messages/message.h"
#include "passes/pass_plugin.h"

#include <nlohmann/json.hpp>

namespace gradus::recipe {
namespace {

using Json = nlohmann::ordered_json;

/// Writes fields, and gathers what several of them share.
class Describer {
public:
  Json describe(const Field &field);
  const Json &definitions() const { return definitions_; }

private:
  Json object(const std::vector<Field> &fields);
  Json variant(const std::vector<Choice> &choices);
  Json sequence(const Field &field);
  Json shape(const Field &field);
  Json shared(const Field &field);
  Json withShort(const Field &field, const Json &whole);

  Json definitions_ = Json::object();
};

Json Describer::object(const std::vector<Field> &fields) {
  Json properties = Json::object();
  for (const Field &field : fields)
    properties[field.key] = describe(field);
  return {{"type", "object"},
          {"properties", properties},
          {"additionalProperties", false}};
}

Json enumeration(const std::vector<Choice> &choices) {
  Json names = Json::array();
  for (const Choice &choice : choices)
    names.push_back(choice.name);
  return {{"enum", names}};
}

/// One alternative per type; its name alone is short for its defaults.
Json Describer::variant(const std::vector<Choice> &choices) {
  Json alternatives = Json::array({enumeration(choices)});
  for (const Choice &choice : choices) {
    Json alternative = object(choice.fields);
    alternative["properties"]["type"] = {{"const", choice.name}};
    alternative["required"] = {"type"};
    alternatives.push_back(alternative);
  }
  return {{"anyOf", alternatives}};
}

Json numberSchema(const Field &field, const char *type) {
  Json result = {{"type", type}};
  if (field.range.isPositive())
    result["exclusiveMinimum"] = 0;
  else if (field.range.minimum != -NumberRange::kNone)
    result["minimum"] = field.range.minimum;
  if (field.range.limit != NumberRange::kNone)
    result["exclusiveMaximum"] = field.range.limit;
  return result;
}

Json Describer::sequence(const Field &field) {
  Json result = {{"type", "array"}, {"items", describe(field.fields[0])}};
  if (field.length) {
    result["minItems"] = field.length;
    result["maxItems"] = field.length;
  }
  return result;
}

Json Describer::shape(const Field &field) {
  switch (field.kind) {
  case Kind::boolean:
    return {{"type", "boolean"}};
  case Kind::text:
    return {{"type", "string"}};
  case Kind::bytes:
    return {{"type", Json::array({"string", "integer"})}};
  case Kind::integer:
    return numberSchema(field, "integer");
  case Kind::number:
    return numberSchema(field, "number");
  case Kind::choice:
    return enumeration(field.choices);
  case Kind::object:
    return object(field.fields);
  case Kind::variant:
    return variant(field.choices);
  case Kind::list:
    return sequence(field);
  case Kind::named:
    return {{"type", "object"},
            {"additionalProperties", describe(field.fields[0])}};
  }
  return {};
}

/// Described where it is first met, and named there and everywhere else.
Json Describer::shared(const Field &field) {
  std::string name(field.definition);
  if (name.empty())
    return shape(field);
  if (!definitions_.contains(name)) {
    definitions_[name] = nullptr; // keeps its place
    Json described = shape(field);
    definitions_[name] = described;
  }
  return {{"$ref", "#/$defs/" + name}};
}

/// The short forms that the field has besides.
Json Describer::withShort(const Field &field, const Json &whole) {
  Json forms = Json::array({whole});
  for (const Field &part : field.fields)
    if (!field.shortForms.key.empty() && part.key == field.shortForms.key)
      forms.push_back(shape(part));
  if (field.shortForms.element)
    forms.push_back(shape(field.fields[0]));
  if (!field.shortForms.word.empty())
    forms.push_back({{"const", field.shortForms.word}});
  if (field.shortForms.isSwitch)
    forms.push_back(field.kind == Kind::object ? Json{{"type", "boolean"}}
                                               : Json{{"const", false}});
  return forms.size() == 1 ? whole : Json{{"anyOf", forms}};
}

Json Describer::describe(const Field &field) {
  Json result = withShort(field, shared(field));
  if (field.nullable() || !field.elsewhere.empty())
    result = {{"anyOf", Json::array({result, Json{{"type", "null"}}})}};
  std::string help(field.help);
  for (const FallbackUnder &other : field.elsewhere)
    help +=
        message(" (with compat ", other.framework, ": ", other.fallback, ")");
  result["description"] = help;
  if (field.isSettable)
    result["settable"] = true; // while training
  if (!field.key.empty())
    result["default"] = Json::parse(field.fallback);
  return result;
}

} // namespace

std::string schema() {
  Json result = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Gradus recipe"}};
  Describer describer;
  result.update(describer.describe(recipeField()));
  result["$defs"] = describer.definitions();
  result["properties"]["$schema"] = {
      {"type", "string"}, {"description", "where editors find this schema"}};
  if (pluginKeys().empty()) // An editor does not know which will be loaded.
    result["properties"][kPluginsKey]["additionalProperties"] = true;
  return jsonText(result, 2) + "\n";
}

} // namespace gradus::recipe
