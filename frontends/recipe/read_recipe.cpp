// Reads a recipe: JSON, overrides, then one walk along the table of fields that
// checks each value and fills in what was not said.

#include "frontends/recipe/boost.h"
#include "frontends/recipe/fields.h"
#include "frontends/recipe/mistakes.h"
#include "frontends/recipe/overrides.h"
#include "frontends/recipe/recipe.h"
#include "frontends/recipe/strict_json.h"
#include "frontends/recipe/suggestions.h"
#include "frontends/recipe/thor.h"
#include "messages/json_text.h"
#include "messages/message.h"
#include "messages/printable.h"
#include "passes/pass_plugin.h"
#include "recipe/run_settings.h"

#include "absl/strings/numbers.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace gradus::recipe {
namespace {

using Json = nlohmann::ordered_json;

std::string join(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : message(path, ".", key);
}

std::vector<std::string_view> namesOf(const Field &field) {
  std::vector<std::string_view> names;
  for (const Choice &choice : field.choices)
    names.push_back(choice.name);
  return names;
}

/// The types of a variant that have a key.
std::vector<std::string_view> typesWith(const Field &variant,
                                        std::string_view key) {
  std::vector<std::string_view> types;
  for (const Choice &choice : variant.choices)
    if (std::ranges::count(choice.fields, key, &Field::key))
      types.push_back(choice.name);
  return types;
}

/// The forms that an object may have.
std::string formsOf(const Field &field) {
  if (!field.shortForms.key.empty())
    return message("an object, or its `", field.shortForms.key, "` alone");
  return field.shortForms.isSwitch ? "an object, true or false" : "an object";
}

std::string unknownPluginKey(std::string_view word,
                             const std::vector<std::string_view> &known) {
  if (known.empty())
    return "is a key of a plug-in, and none was loaded; --plugin FILE.so names "
           "its library";
  return "is a key of no plug-in that was loaded (--plugin FILE.so)" +
         suggestionForKey(kPluginsKey, word, known);
}

/// Checks values against their fields and collects what is wrong.
class Checker {
public:
  explicit Checker(bool hasThor = false) : hasThor_(hasThor) {}

  Json check(const Field &field, const Json &value, const std::string &path);
  const std::vector<Mistake> &mistakes() const { return mistakes_; }
  void mistake(const std::string &path, std::string_view what) {
    mistakes_.push_back({path, std::string(what)});
  }

private:
  Json checkKind(const Field &field, const Json &value,
                 const std::string &path);
  Json checkNumber(const Field &field, const Json &value,
                   const std::string &path);
  Json checkChoice(const Field &field, const Json &value,
                   const std::string &path);
  Json checkVariant(const Field &field, const Json &value,
                    const std::string &path);
  void missingType(const Field &variant, const Json &value,
                   const std::string &path);
  Json checkList(const Field &field, const Json &value,
                 const std::string &path);
  Json checkNamed(const Field &field, const Json &value,
                  const std::string &path);
  Json checkBytes(const Json &value, const std::string &path);
  Json checkFields(const std::vector<Field> &fields, const Json &value,
                   const std::string &path, const Field *variant = nullptr);
  const Choice *findChoice(const Field &field, const Json &name,
                           const std::string &path);
  void refuseUnknown(const std::vector<Field> &fields, const Json &value,
                     const std::string &path, const Field *variant);
  Json expected(std::string_view what, const Json &found,
                const std::string &path) {
    mistake(path, message("expected ", what, ", found ", shown(found)));
    return nullptr;
  }
  Json expectedObject(const Field &field, const Json &found,
                      const std::string &path);

  std::vector<Mistake> mistakes_;
  bool hasThor_ = false; // whose optimizer has the keys of precondition
  // The framework whose defaults hold in the object that is being checked.
  std::string framework_ = Json::parse(compatKey().fallback);
};

Json Checker::check(const Field &field, const Json &value,
                    const std::string &path) {
  Json whole = written(field, value);
  if (whole.is_null() && field.nullable())
    return nullptr;
  if (whole.is_null() && !field.elsewhere.empty())
    whole = Json::parse(field.fallbackUnder(framework_));
  if (field.shortForms.isSwitch && whole == false)
    return false;
  return checkKind(field, whole, path);
}

Json Checker::checkKind(const Field &field, const Json &value,
                        const std::string &path) {
  switch (field.kind) {
  case Kind::boolean:
    return value.is_boolean() ? value : expected("true or false", value, path);
  case Kind::text:
    return value.is_string() ? value : expected("text", value, path);
  case Kind::bytes:
    return checkBytes(value, path);
  case Kind::integer:
  case Kind::number:
    return checkNumber(field, value, path);
  case Kind::choice:
    return findChoice(field, value, path) ? value : nullptr;
  case Kind::object:
    return value.is_object() ? checkFields(field.fields, value, path)
                             : expectedObject(field, value, path);
  case Kind::variant:
    return checkVariant(field, value, path);
  case Kind::list:
    return checkList(field, value, path);
  case Kind::named:
    return checkNamed(field, value, path);
  }
  return nullptr;
}

/// Refuses what is no object. Who writes true or false for a section of boost
/// meant its flag, which is named.
Json Checker::expectedObject(const Field &field, const Json &found,
                             const std::string &path) {
  std::string flag = found.is_boolean() ? flagOfSection(path) : "";
  mistake(path, message("expected ", formsOf(field), ", found ", shown(found),
                        flag.empty() ? "" : "; its flag is ", flag));
  return nullptr;
}

Json Checker::checkNumber(const Field &field, const Json &value,
                          const std::string &path) {
  if (!value.is_number())
    return expected(field.kind == Kind::integer ? "an integer" : "a number",
                    value, path);
  double number = value.get<double>();
  bool isPositive = field.range.isPositive();
  if (isPositive && number <= 0)
    return expected("more than 0", value, path);
  if (!isPositive && number < field.range.minimum)
    return expected(message("at least ", field.range.minimum), value, path);
  if (number >= field.range.limit && field.range.limit != NumberRange::kNone)
    return expected(message("less than ", field.range.limit), value, path);
  if (std::abs(number) > std::numeric_limits<float>::max())
    return expected("a number in the range of f32", value, path);
  if (number != 0 && std::abs(number) < NumberRange::kSmallest)
    return expected("0, or a number that f32 does not take for it", value,
                    path);
  if (field.kind == Kind::number)
    return number;
  // 1e4 is an integer, too; beyond 2^63 (or 2^53 as a float) it is none of
  // ours.
  if (std::abs(number) >= 0x1p63 ||
      (value.is_number_float() &&
       (number != std::floor(number) || std::abs(number) > 0x1p53)))
    return expected("an integer", value, path);
  return value.is_number_float() ? int64_t(number) : value.get<int64_t>();
}

const Choice *Checker::findChoice(const Field &field, const Json &name,
                                  const std::string &path) {
  if (!name.is_string()) {
    expected("text", name, path);
    return nullptr;
  }
  std::vector<std::string_view> known;
  for (const Choice &choice : field.choices) {
    known.push_back(choice.name);
    if (choice.name == name.get_ref<const std::string &>())
      return &choice;
  }
  mistake(path, message("unknown value ", shown(name),
                        suggestionForValue(name.get<std::string>(), known)));
  return nullptr;
}

Json Checker::checkVariant(const Field &field, const Json &value,
                           const std::string &path) {
  if (!value.is_object())
    return expected(message("a type such as ", inQuotes(field.choices[0].name),
                            ", or an object with it"),
                    value, path);
  Json type = value.contains("type") || field.nullable()
                  ? value.value("type", Json())
                  : Json::parse(field.fallback)["type"];
  if (type.is_null() && !value.contains("type")) {
    missingType(field, value, path);
    return nullptr;
  }
  const Choice *choice = findChoice(field, type, join(path, "type"));
  if (!choice)
    return nullptr;
  Json rest = value;
  rest.erase("type");
  Json result = {{"type", choice->name}};
  result.update(checkFields(choice->fields, rest, path, &field));
  return result;
}

/// Says for each key that not all types have which ones do.
void Checker::missingType(const Field &variant, const Json &value,
                          const std::string &path) {
  std::string known;
  for (const auto &[key, given] : value.items())
    if (auto types = typesWith(variant, key);
        types.size() < variant.choices.size())
      known += message("; ", types.empty() ? "none" : joined(types, ", "),
                       types.size() > 1 ? " have " : " has ", inQuotes(key));
  mistake(join(path, "type"), message("is missing; known: ",
                                      joined(namesOf(variant), ", "), known));
}

Json Checker::checkList(const Field &field, const Json &value,
                        const std::string &path) {
  if (!value.is_array())
    return expected("a list", value, path);
  if (field.length && value.size() != field.length)
    return expected(message("a list of ", field.length), value, path);
  Json result = Json::array();
  for (size_t i = 0; i < value.size(); ++i)
    result.push_back(
        check(field.fields[0], value[i], join(path, std::to_string(i))));
  return result;
}

Json Checker::checkNamed(const Field &field, const Json &value,
                         const std::string &path) {
  if (!value.is_object())
    return expected("an object of names", value, path);
  Json result = Json::object();
  for (const auto &[name, one] : value.items())
    result[name] = check(field.fields[0], one, join(path, name));
  return result;
}

/// Bytes of one unit; 0 if there is no such unit.
double bytesOf(std::string_view unit) {
  constexpr std::pair<std::string_view, double> units[] = {
      {"", 1},         {"B", 1},       {"KB", 1e3},     {"MB", 1e6},
      {"GB", 1e9},     {"TB", 1e12},   {"KiB", 1024.0}, {"MiB", 1048576.0},
      {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  for (auto [name, bytes] : units)
    if (name == unit)
      return bytes;
  return 0;
}

Json Checker::checkBytes(const Json &value, const std::string &path) {
  double bytes = value.is_number() ? value.get<double>() : 0;
  if (value.is_string()) {
    const auto &text = value.get_ref<const std::string &>();
    size_t end = text.find_first_not_of("0123456789.");
    std::string_view unit =
        end == std::string::npos ? "" : std::string_view(text).substr(end);
    while (!unit.empty() && unit.front() == ' ')
      unit.remove_prefix(1);
    double number = 0;
    if (absl::SimpleAtod(text.substr(0, end), &number))
      bytes = number * bytesOf(unit);
  }
  if (bytes >= 1 && bytes < 0x1p62)
    return static_cast<int64_t>(bytes);
  return expected("a size such as \"2GiB\" or a number of bytes", value, path);
}

/// The type of a variant that has these fields; null where it is none.
const Choice *typeWith(const std::vector<Field> &fields, const Field *variant) {
  if (variant)
    for (const Choice &choice : variant->choices)
      if (&choice.fields == &fields)
        return &choice;
  return nullptr;
}

/// "; sgd and lars have it": the types of a variant that have a key.
std::string typesThatHave(std::string_view key, const Field *variant) {
  std::vector<std::string_view> types;
  if (variant)
    types = typesWith(*variant, key);
  return types.empty() ? ""
                       : message("; ", joined(types, ", "),
                                 types.size() == 1 ? " has it" : " have it");
}

void Checker::refuseUnknown(const std::vector<Field> &fields, const Json &value,
                            const std::string &path, const Field *variant) {
  const Choice *type = typeWith(fields, variant);
  std::vector<std::string_view> known;
  for (const Field &field : fields)
    known.push_back(field.key);
  for (const auto &[key, given] : value.items())
    if (std::find(known.begin(), known.end(), key) != known.end())
      continue;
    else if (std::string types = typesThatHave(key, variant); !types.empty())
      mistake(join(path, key), message("unknown key of ", type->name, types));
    else if (path != kPluginsKey)
      mistake(join(path, key),
              message("unknown key", type ? " of " : "", type ? type->name : "",
                      suggestionForKey(path, key, known, hasThor_)));
    else if (!given.is_null())
      mistake(join(path, key), unknownPluginKey(key, known));
}

Json Checker::checkFields(const std::vector<Field> &fields, const Json &value,
                          const std::string &path, const Field *variant) {
  refuseUnknown(fields, value, path, variant);
  const std::string around = framework_;
  if (auto own = value.find("compat"); own != value.end() && own->is_string())
    framework_ = *own;
  Json result = Json::object();
  for (const Field &field : fields) {
    auto given = value.find(field.key);
    result[field.key] = check(field,
                              given == value.end()
                                  ? Json::parse(field.fallbackUnder(framework_))
                                  : *given,
                              join(path, field.key));
  }
  framework_ = around;
  return result;
}

Recipe finish(const Json &checked, std::vector<std::string> remarks) {
  Recipe recipe;
  recipe.remarks = std::move(remarks);
  recipe.json = jsonText(checked, 2);
  for (const auto &[name, size] : checked["inputs"]["dims"].items())
    recipe.dims[name] = size;
  recipe.trainable = checked["trainable"];
  recipe.fixed = checked["fixed"];
  return recipe;
}

/// Whether a value at one path is part of the value at the other.
bool meet(llvm::StringRef one, llvm::StringRef other) {
  auto within = [](llvm::StringRef path, llvm::StringRef whole) {
    return path.consume_front(whole) && (path.empty() || path.front() == '.');
  };
  return within(one, other) || within(other, one);
}

/// The origin of a mistake: the last override of its key, or the recipe.
std::string_view originOf(const Mistake &mistake, std::string_view name,
                          const Overrides &overrides) {
  for (const Override &override : llvm::reverse(overrides))
    if (meet(mistake.path, keyOf(override.setting)))
      return override.origin;
  return name;
}

/// A document of AutoBoost with all flags said; null where it has mistakes,
/// which the check of the whole recipe tells.
Json boostOf(const Json &given) {
  Checker checker;
  Json document = checker.check(boost(), given.value("boost", Json("O0")), "");
  return checker.mistakes().empty() ? resolvedBoost(document, given) : Json();
}

/// Whether a recipe's optimizer is well-formed, as the check of the whole
/// recipe tells.
bool hasGoodOptimizer(const Json &given) {
  Checker checker;
  for (const Field &field : recipeField().fields)
    if (field.key == "optimizer")
      checker.check(field, given.at("optimizer"), "optimizer");
  return checker.mistakes().empty();
}

/// Adds the keys that follow from others: gradients in f16 want a loss scale,
/// unless the recipe says null, boost and the optimizer thor stand for keys,
/// and what dim_reduce leaves of gradients wants small steps. Adds to `remarks`
/// what says nothing.
Json completed(Json given, std::vector<std::string> &remarks) {
  if (!given.is_object())
    return given;
  if (given.value("$schema", Json()).is_string())
    given.erase("$schema"); // for editors
  if (auto boosts = given.find("boost");
      boosts != given.end() && (boosts->is_null() || *boosts == false))
    *boosts = "O0";
  if (Json document = boostOf(given); !document.is_null())
    addBoostedKeys(document, given);
  if (hasThor(given) && hasGoodOptimizer(given))
    remarks = expandThor(given);
  if (given.value("precision", Json()) == "f16" &&
      !given.contains("loss_scale"))
    given["loss_scale"] = {{"type", "dynamic"}};
  const Json reduction = given.value("dim_reduce", Json());
  if (!reduction.is_null() && reduction != false &&
      !given.contains("optimizer"))
    given["optimizer"] = {
        {"type", "sgd"}, {"learning_rate", 0.001}, {"momentum", 0.9}};
  return given;
}

/// The document as it is kept: what it stands for, where that is anything.
/// Returns what it says without effect.
std::vector<std::string> settleBoost(Json &recipe, Checker &checker) {
  std::vector<std::string> remarks = passedOverFlags(recipe["boost"], recipe);
  Json document = resolvedBoost(recipe["boost"], recipe);
  for (const BoostMistake &mistake : boostMistakes(document, recipe))
    checker.mistake(mistake.path, mistake.words);
  recipe["boost"] = boostsAnything(document) ? document : Json("O0");
  if (checker.mistakes().empty())
    for (std::string &remark : boostRemarks(document, recipe))
      remarks.push_back(std::move(remark));
  return remarks;
}

/// Leaves out the keys that leave a choice to the compiler: artifacts are as if
/// there were none where nobody made one.
void leaveOutAutomatic(Json &recipe) {
  const Json automatic = "auto";
  for (const Field &key : recipeField().fields)
    if (auto said = recipe.find(key.key);
        said != recipe.end() && *said == automatic &&
        Json::parse(key.fallback) == automatic)
      recipe.erase(said);
}

absl::StatusOr<Recipe> checked(const Json &given, std::string_view name,
                               const Overrides &overrides) {
  std::vector<std::string> remarks;
  Json whole = completed(given, remarks);
  Checker checker(given.is_object() && hasThor(given));
  if (auto mistake = whole.is_object() ? thorMistake(whole) : std::nullopt) {
    checker.mistake(mistake->path, mistake->words);
    whole.erase(mistake->path); // It is refused as a whole.
  }
  Json result = checker.check(recipeField(), whole, "");
  if (pluginKeys().empty() && result.is_object())
    result.erase(kPluginsKey); // Recipes are as if there were no plug-ins.
  leaveOutAutomatic(result);
  if (checker.mistakes().empty()) {
    for (std::string &remark : settleBoost(result, checker))
      remarks.push_back(std::move(remark));
    if (std::string words = overriddenReduce(given, result); !words.empty())
      remarks.push_back(std::move(words));
    for (const Mistake &mistake : mistakesTogether(result))
      checker.mistake(mistake.path, mistake.words);
    for (std::string &remark : remarksTogether(result))
      remarks.push_back(std::move(remark));
  }
  if (checker.mistakes().empty())
    return finish(result, remarks);
  std::vector<std::string> lines;
  for (const Mistake &mistake : checker.mistakes())
    lines.push_back(printable(message(
        originOf(mistake, name, overrides), ": ",
        mistake.path.empty() ? "recipe" : mistake.path, ": ", mistake.words)));
  return invalid(joined(lines, "\n  "));
}

} // namespace

absl::StatusOr<Recipe> read(std::string_view text, std::string_view name,
                            const Overrides &overrides) {
  absl::StatusOr<Json> given = parseStrictly(text);
  if (!given.ok())
    return invalid(name, ": ", given.status().message());
  if (absl::Status status = apply(*given, overrides); !status.ok())
    return status;
  return checked(*given, name, overrides);
}

absl::StatusOr<Recipe> readFile(const std::string &path,
                                const Overrides &overrides) {
  if (path.empty())
    return read("{}", "recipe", overrides);
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return invalid(path,
                   ": cannot read this recipe: ", file.getError().message());
  return read((*file)->getBuffer(), path, overrides);
}

} // namespace gradus::recipe
