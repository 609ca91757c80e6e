// Attributes of a program's recipe to members of settings; see settings.h.

#include "recipe/settings.h"

#include "llvm/Support/JSON.h"

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
             std::string path, MLIRContext *context)
    : field_(&field), value_(given), framework_(std::move(framework)),
      path_(std::move(path)), context_(context) {
  if (auto flag = dyn_cast_or_null<BoolAttr>(value_);
      flag && field.shortForms.isSwitch)
    value_ = flag.getValue() ? Attribute(Builder(context).getDictionaryAttr({}))
                             : Attribute(UnitAttr::get(context));
  // A null that means nothing by itself is the default.
  if (!value_ || (isNull() && !field.nullable()))
    value_ = attributeOf(field.fallbackUnder(this->framework_), context);
}

bool Value::isNull() const { return !value_ || isa<UnitAttr>(value_); }

void Value::to(bool &flag) const {
  auto given = dyn_cast<BoolAttr>(value_);
  flag = given && given.getValue();
}

void Value::to(int64_t &number) const {
  number = 0;
  if (auto whole = dyn_cast<IntegerAttr>(value_))
    number = whole.getInt();
  else if (auto real = dyn_cast<FloatAttr>(value_)) // 1e4 is an integer, too
    number = static_cast<int64_t>(real.getValueAsDouble());
}

void Value::to(double &number) const {
  number = 0;
  if (auto real = dyn_cast<FloatAttr>(value_))
    number = real.getValueAsDouble();
  else if (auto whole = dyn_cast<IntegerAttr>(value_))
    number = static_cast<double>(whole.getInt());
}

void Value::to(Number &number) const {
  to(number.initial);
  number.path = path_;
  number.minimum = field_->range.minimum;
  number.limit = field_->range.limit;
}

void Value::to(std::string &text) const {
  auto given = dyn_cast<StringAttr>(value_);
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

size_t Value::choice() const {
  return numberOf(nameIn(value_), field_->choices);
}

static std::string keyIn(const std::string &path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

const std::vector<Field> &Value::fields() const {
  return field_->kind == Kind::variant ? field_->choices[choice()].fields
                                       : field_->fields;
}

Value Value::at(std::string_view key) const {
  auto object = dyn_cast_or_null<DictionaryAttr>(value_);
  if (!object)
    return {};
  for (const Field &each : fields())
    if (each.key == key)
      return inside(each);
  return {};
}

Value Value::inside(const Field &field) const {
  auto object = dyn_cast<DictionaryAttr>(value_);
  return {field, object ? object.get(field.key) : Attribute(),
          frameworkOf(object, framework_), keyIn(path_, field.key), context_};
}

/// Keys that are bound to members of other settings are left out: an object
/// may fill several.
void Value::fill(void *settings, const void *type) const {
  if (field_->typeBinding.isIn(type))
    field_->typeBinding.store(*this, settings);
  for (const Field &each : fields())
    if (each.binding.isIn(type))
      each.binding.store(inside(each), settings);
}

std::vector<Value> Value::elements() const {
  std::vector<Value> elements;
  if (auto list = dyn_cast<ArrayAttr>(value_))
    for (Attribute element : list)
      elements.push_back(
          at(field_->fields[0], element,
             path_ + "[" + std::to_string(elements.size()) + "]"));
  return elements;
}

std::vector<std::pair<std::string, Value>> Value::members() const {
  std::vector<std::pair<std::string, Value>> members;
  if (auto object = dyn_cast<DictionaryAttr>(value_))
    for (NamedAttribute member : object)
      members.emplace_back(member.getName().str(),
                           at(field_->fields[0], member.getValue(),
                              keyIn(path_, member.getName().strref())));
  return members;
}

InFlightDiagnostic keyError(ProgramOp program, const Twine &path) {
  return mlir::emitError(program.getLoc()) << "recipe: " << path << " ";
}

InFlightDiagnostic keyWarning(ProgramOp program, const Twine &path) {
  return mlir::emitWarning(program.getLoc()) << "recipe: " << path << " ";
}

Value valueOf(ProgramOp program, const Field &field, StringRef object) {
  DictionaryAttr recipe = program.getRecipeAttr();
  MLIRContext *context = program->getContext();
  std::string follows;
  Value(compatKey(), recipe ? recipe.get("compat") : Attribute(), "", "compat",
        context)
      .to(follows);
  if (recipe && !object.empty())
    recipe = recipe.getAs<DictionaryAttr>(object);
  return {field, recipe ? recipe.get(field.key) : Attribute(), follows,
          keyIn(object.str(), field.key), context};
}

} // namespace gradus::recipe
