// Applies settings to a recipe that is not checked yet; see overrides.h.

#include "frontends/recipe/overrides.h"

#include "frontends/recipe/fields.h"
#include "frontends/recipe/strict_json.h"
#include "messages/message.h"
#include "recipe/key_path.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

namespace gradus::recipe {

using Json = nlohmann::ordered_json;

Json written(const Field &field, const Json &value) {
  if (field.shortForms.isSwitch && value == true)
    return Json::object();
  if (!field.shortForms.key.empty() && value.is_string())
    return {{field.shortForms.key, value}};
  if (field.kind == Kind::variant && value.is_string())
    return {{"type", value}}; // "sgd" is short for {"type": "sgd"}
  if (field.shortForms.element && value.is_number())
    return Json::array({value});
  if (!field.shortForms.word.empty() && value == field.shortForms.word)
    return 0;
  return value;
}

llvm::StringRef keyOf(llvm::StringRef setting) {
  llvm::StringRef key = setting.split('=').first;
  key.consume_back("+");
  return key;
}

namespace {

/// The value at `key` in an object or a list; null where there cannot be one.
Json *child(Json &parent, const std::string &key) {
  if (parent.is_null())
    parent = Json::object();
  if (parent.is_object())
    return &parent[key];
  size_t index = 0;
  bool isIndex = !llvm::StringRef(key).getAsInteger(10, index);
  return parent.is_array() && isIndex && index < parent.size() ? &parent[index]
                                                               : nullptr;
}

/// The type that a variant has, or its default.
Json typeOf(const Field &variant, const Json &value) {
  if (value.is_object() && value.contains("type"))
    return value["type"];
  return variant.nullable() ? Json() : Json::parse(variant.fallback)["type"];
}

/// The fields of an object, or of the type that a variant has.
const std::vector<Field> &fieldsOf(const Field &field, const Json &value) {
  if (field.kind == Kind::variant)
    for (const Choice &choice : field.choices)
      if (typeOf(field, value) == choice.name)
        return choice.fields;
  return field.fields;
}

/// The field of `key` in a value of another field; null where there is none.
const Field *fieldIn(const Field &field, const Json &value,
                     llvm::StringRef key) {
  if (field.kind == Kind::list || field.kind == Kind::named)
    return &field.fields[0];
  for (const Field &part : fieldsOf(field, value))
    if (key == llvm::StringRef(part.key))
      return &part;
  return nullptr;
}

/// Writes a value in its long form, and a list that is not said as its default,
/// so that there is something to set within.
void lengthen(const Field &field, Json &value, std::string_view framework) {
  bool isOff = field.shortForms.isSwitch && value == false;
  value = isOff ? Json::object() : written(field, value);
  if (value.is_null() && field.kind == Kind::list && !field.nullable())
    value = Json::parse(field.fallbackUnder(framework));
}

/// Whether a key is a list with an index as programs write it: `groups[0]`.
bool isIndexed(const Field &field, const Json &value, llvm::StringRef key) {
  auto [name, index] = key.split('[');
  const Field *list = fieldIn(field, value, name);
  return field.kind != Kind::named && index.ends_with("]") && list &&
         list->kind == Kind::list;
}

llvm::SmallVector<llvm::StringRef> keysOf(const Override &override) {
  llvm::SmallVector<llvm::StringRef> keys;
  keyOf(override.setting).split(keys, '.');
  return keys;
}

bool isIndex(llvm::StringRef key) {
  return !key.empty() && llvm::all_of(key, llvm::isDigit);
}

bool isAppending(const std::string &setting) {
  size_t equals = setting.find('=');
  return equals != setting.npos && equals > 0 && setting[equals - 1] == '+';
}

/// Whether a setting is of a list that the recipe does not have (yet): of an
/// element, or of one more.
bool isInDefault(const Json &recipe, const Override &override) {
  Json missing;
  const Json *place = &recipe;
  for (llvm::StringRef key : keysOf(override)) {
    if (place->is_null() && isIndex(key))
      return true;
    size_t index = 0;
    if (place->is_object() && place->contains(key))
      place = &place->at(key.str());
    else if (place->is_array() && !key.getAsInteger(10, index) &&
             index < place->size())
      place = &place->at(index);
    else
      place = &missing;
  }
  return place->is_null() && isAppending(override.setting);
}

/// Whether one of the later settings replaces what this one is within.
bool isReplaced(const Override &override, llvm::ArrayRef<Override> later) {
  return llvm::any_of(later, [&](const Override &each) {
    llvm::StringRef path = keyOf(override.setting);
    return !isAppending(each.setting) &&
           path.consume_front(keyOf(each.setting)) &&
           (path.empty() || path.starts_with("."));
  });
}

/// Says why nothing is at a key in a value, and what would be.
std::string nothingAt(const std::string &path, const Json &value,
                      llvm::StringRef key) {
  if (!value.is_array())
    return message(path, " is ", shown(value), ", which has no ",
                   inQuotes(key));
  std::string more = message(path, "+=VALUE");
  if (value.empty())
    return message(path, " is an empty list; expected a whole element, ", more);
  std::string range =
      value.size() == 1 ? "0" : message("0 to ", value.size() - 1);
  return message(path, " has no element ", inQuotes(key), "; expected ", range,
                 ", or one more, ", more);
}

/// Finds the place of a setting's key, and makes the objects around it.
absl::StatusOr<Json *> placeOf(Json &recipe, const Override &override) {
  Json *place = &recipe;
  const Field *field = &recipeField();
  llvm::StringRef path = keyOf(override.setting);
  std::string framework = Json::parse(compatKey().fallback);
  for (llvm::StringRef key : keysOf(override)) {
    framework = frameworkIn(*place, framework);
    if (field && isIndexed(*field, *place, key))
      return invalid(override.origin, ": write ", withDots(path));
    if (field && field != &recipeField())
      lengthen(*field, *place, framework);
    field = field ? fieldIn(*field, *place, key) : nullptr;
    Json *around = place;
    place = child(*around, key.str());
    if (!place)
      return invalid(
          override.origin, ": ",
          nothingAt(path.substr(0, key.data() - path.data() - 1).str(), *around,
                    key));
  }
  if (isAppending(override.setting) && field && place->is_null())
    lengthen(*field, *place, frameworkIn(*place, framework));
  return place;
}

/// Puts a value at the end of a list, or makes the list.
absl::Status append(Json &list, Json value, const Override &override) {
  if (list.is_null())
    list = Json::array();
  if (!list.is_array())
    return invalid(override.origin, ": += expects a list at ",
                   inQuotes(keyOf(override.setting).str()), ", found ",
                   shown(list));
  list.push_back(std::move(value));
  return absl::OkStatus();
}

/// Applies one `path.to.key=value`, or `+=` for one more element of a list.
absl::Status set(Json &recipe, const Override &override) {
  const std::string &setting = override.setting;
  size_t equals = setting.find('=');
  if (keyOf(setting).empty() || equals == setting.npos)
    return invalid(override.origin, ": expected key=value");
  std::string text = setting.substr(equals + 1);
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (std::string number = vanishingNumber(text);
      !value.is_discarded() && !number.empty())
    return invalid(override.origin, ": the number ", number,
                   " would be read as 0; write 0");
  absl::StatusOr<Json *> place = placeOf(recipe, override);
  if (!place.ok())
    return place.status();
  if (value.is_discarded() && !llvm::json::isUTF8(setting))
    return invalid(override.origin, ": not UTF-8");
  if (value.is_discarded())
    value = text;
  if (isAppending(setting))
    return append(**place, value, override);
  **place = value;
  return absl::OkStatus();
}

} // namespace

absl::Status apply(Json &recipe, const Overrides &overrides) {
  // The default of a list follows from keys that later settings may have.
  std::vector<size_t> late;
  for (size_t i = 0; i < overrides.size(); ++i)
    if (isInDefault(recipe, overrides[i]))
      late.push_back(i);
    else if (absl::Status status = set(recipe, overrides[i]); !status.ok())
      return status;
  for (size_t i : late)
    if (llvm::ArrayRef later(overrides);
        !isReplaced(overrides[i], later.drop_front(i + 1)))
      if (absl::Status status = set(recipe, overrides[i]); !status.ok())
        return status;
  return absl::OkStatus();
}

} // namespace gradus::recipe
