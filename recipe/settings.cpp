// Attributes of a program's recipe to members of settings; see settings.h.

#include "recipe/settings.h"

#include "llvm/Support/JSON.h"

#include <cassert>

using namespace mlir;

namespace gradus::recipe {
namespace {

Attribute toAttribute(const llvm::json::Value &value, Builder &builder);

Attribute listOf(const llvm::json::Array &array, Builder &builder) {
  SmallVector<Attribute> elements;
  for (const llvm::json::Value &element : array)
    elements.push_back(toAttribute(element, builder));
  return builder.getArrayAttr(elements);
}

Attribute objectOf(const llvm::json::Object &object, Builder &builder) {
  NamedAttrList members;
  for (const auto &[key, value] : object)
    members.set(StringRef(key), toAttribute(value, builder));
  return members.getDictionary(builder.getContext());
}

Attribute toAttribute(const llvm::json::Value &value, Builder &builder) {
  if (const auto *object = value.getAsObject())
    return objectOf(*object, builder);
  if (const auto *array = value.getAsArray())
    return listOf(*array, builder);
  if (auto text = value.getAsString())
    return builder.getStringAttr(*text);
  if (auto flag = value.getAsBoolean())
    return builder.getBoolAttr(*flag);
  if (auto whole = value.getAsInteger())
    return builder.getI64IntegerAttr(*whole);
  if (auto number = value.getAsNumber())
    return builder.getF64FloatAttr(*number);
  return builder.getUnitAttr();
}

/// The framework whose defaults hold in an object, which may have a `compat`.
std::string frameworkOf(DictionaryAttr object, const std::string &around) {
  auto own = object ? object.getAs<StringAttr>("compat") : StringAttr();
  return own ? own.str() : around;
}

} // namespace

Attribute attributeOf(std::string_view json, MLIRContext *context) {
  Builder builder(context);
  auto parsed = llvm::json::parse(StringRef(json));
  return toAttribute(llvm::cantFail(std::move(parsed)), builder);
}

Value::Value(const Field &field, Attribute given, std::string framework,
             MLIRContext *context)
    : field(&field), value(given), framework(std::move(framework)),
      context(context) {
  if (auto flag = dyn_cast_or_null<BoolAttr>(value); flag && field.isSwitch)
    value = flag.getValue() ? Attribute(Builder(context).getDictionaryAttr({}))
                            : Attribute(UnitAttr::get(context));
  // A null that means nothing by itself is the default.
  if (!value || (isNull() && !field.nullable()))
    value = attributeOf(field.fallbackUnder(this->framework), context);
}

bool Value::isNull() const { return isa<UnitAttr>(value); }

void Value::to(bool &flag) const {
  auto given = dyn_cast<BoolAttr>(value);
  flag = given && given.getValue();
}

void Value::to(int64_t &number) const {
  number = 0;
  if (auto whole = dyn_cast<IntegerAttr>(value))
    number = whole.getInt();
  else if (auto real = dyn_cast<FloatAttr>(value)) // 1e4 is an integer, too
    number = static_cast<int64_t>(real.getValueAsDouble());
}

void Value::to(double &number) const {
  number = 0;
  if (auto real = dyn_cast<FloatAttr>(value))
    number = real.getValueAsDouble();
  else if (auto whole = dyn_cast<IntegerAttr>(value))
    number = static_cast<double>(whole.getInt());
}

void Value::to(std::string &text) const {
  auto given = dyn_cast<StringAttr>(value);
  text = given ? given.str() : "";
}

static size_t numberOf(StringRef name, ArrayRef<Choice> choices) {
  for (size_t i = 0; i < choices.size(); ++i)
    if (name == StringRef(choices[i].name))
      return i;
  return 0;
}

/// The type of a variant, or the value of a choice.
static StringRef nameIn(Attribute value) {
  if (auto object = dyn_cast<DictionaryAttr>(value))
    value = object.get("type");
  auto text = dyn_cast_or_null<StringAttr>(value);
  return text ? text.getValue() : StringRef();
}

size_t Value::choice() const { return numberOf(nameIn(value), field->choices); }

void Value::fill(void *settings, const void *type) const {
  auto object = dyn_cast<DictionaryAttr>(value);
  Value inside = *this;
  inside.framework = frameworkOf(object, framework);
  if (field->typeStore)
    field->typeStore(*this, settings);
  ArrayRef<Field> fields = field->kind == Kind::variant
                               ? field->choices[choice()].fields
                               : field->fields;
  for (const Field &each : fields)
    if (each.store) {
      assert(each.settingsType == type && "a key of other settings");
      each.store(inside.at(each, object ? object.get(each.key) : Attribute()),
                 settings);
    }
}

std::vector<Value> Value::elements() const {
  std::vector<Value> elements;
  if (auto list = dyn_cast<ArrayAttr>(value))
    for (Attribute element : list)
      elements.push_back(at(field->fields[0], element));
  return elements;
}

std::vector<std::pair<std::string, Value>> Value::members() const {
  std::vector<std::pair<std::string, Value>> members;
  if (auto object = dyn_cast<DictionaryAttr>(value))
    for (NamedAttribute member : object)
      members.emplace_back(member.getName().str(),
                           at(field->fields[0], member.getValue()));
  return members;
}

InFlightDiagnostic keyError(ProgramOp program, const Twine &path) {
  return mlir::emitError(program.getLoc()) << "recipe: " << path << " ";
}

InFlightDiagnostic keyWarning(ProgramOp program, const Twine &path) {
  return mlir::emitWarning(program.getLoc()) << "recipe: " << path << " ";
}

Value valueOf(ProgramOp program, const Field &field) {
  DictionaryAttr recipe = program.getRecipeAttr();
  MLIRContext *context = program->getContext();
  std::string follows;
  Value(compatKey(), recipe ? recipe.get("compat") : Attribute(), "", context)
      .to(follows);
  return {field, recipe ? recipe.get(field.key) : Attribute(), follows,
          context};
}

} // namespace gradus::recipe
