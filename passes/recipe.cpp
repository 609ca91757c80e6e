// Typed reads of the recipe; see recipe.h. The recipe reader of the frontends
// has checked a user's file already, so errors here are for programs written
// as text and for what only the model can tell.

#include "passes/recipe.h"

#include "recipe/nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gradus;

Attribute RecipeObject::find(StringRef key) const {
  Attribute found = values ? values.get(key) : Attribute();
  return isa_and_nonnull<UnitAttr>(found) ? Attribute() : found;
}

std::string RecipeObject::pathOf(StringRef key) const {
  return path.empty() ? key.str() : path + "." + key.str();
}

InFlightDiagnostic RecipeObject::error(StringRef key) const {
  ProgramOp op = program;
  return mlir::emitError(op.getLoc()) << "recipe: " << pathOf(key) << " ";
}

InFlightDiagnostic RecipeObject::warning(StringRef key) const {
  ProgramOp op = program;
  return mlir::emitWarning(op.getLoc()) << "recipe: " << pathOf(key) << " ";
}

SmallVector<std::string> RecipeObject::keys() const {
  SmallVector<std::string> keys;
  for (NamedAttribute member :
       values ? values.getValue() : ArrayRef<NamedAttribute>())
    if (has(member.getName()))
      keys.push_back(member.getName().str());
  return keys;
}

bool RecipeObject::has(StringRef key) const { return bool(find(key)); }

double RecipeObject::number(StringRef key, double otherwise) const {
  Attribute value = find(key);
  if (!value)
    return otherwise;
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValueAsDouble();
  if (auto number = dyn_cast<IntegerAttr>(value))
    return static_cast<double>(number.getInt());
  error(key) << "is " << value << ", expected a number";
  return otherwise;
}

int64_t RecipeObject::integer(StringRef key, int64_t otherwise) const {
  Attribute value = find(key);
  if (!value)
    return otherwise;
  if (auto number = dyn_cast<IntegerAttr>(value))
    return number.getInt();
  error(key) << "is " << value << ", expected a whole number";
  return otherwise;
}

bool RecipeObject::flag(StringRef key, bool otherwise) const {
  Attribute value = find(key);
  if (!value)
    return otherwise;
  if (auto flag = dyn_cast<BoolAttr>(value))
    return flag.getValue();
  error(key) << "is " << value << ", expected true or false";
  return otherwise;
}

std::string RecipeObject::text(StringRef key, StringRef otherwise) const {
  Attribute value = find(key);
  if (!value)
    return otherwise.str();
  if (auto text = dyn_cast<StringAttr>(value))
    return text.str();
  error(key) << "is " << value << ", expected a string";
  return otherwise.str();
}

SmallVector<double> RecipeObject::numbers(StringRef key,
                                          ArrayRef<double> otherwise) const {
  auto list = dyn_cast_or_null<ArrayAttr>(find(key));
  SmallVector<double> result;
  for (Attribute value :
       list ? list : ArrayAttr::get(program->getContext(), {}))
    if (auto number = dyn_cast<FloatAttr>(value))
      result.push_back(number.getValueAsDouble());
    else if (auto number = dyn_cast<IntegerAttr>(value))
      result.push_back(static_cast<double>(number.getInt()));
  if (has(key) && (!list || result.size() != list.size()))
    error(key) << "is " << find(key) << ", expected a list of numbers";
  return list ? result : SmallVector<double>(otherwise);
}

SmallVector<std::string>
RecipeObject::texts(StringRef key, ArrayRef<StringRef> otherwise) const {
  auto list = dyn_cast_or_null<ArrayAttr>(find(key));
  SmallVector<std::string> result;
  for (Attribute value :
       list ? list : ArrayAttr::get(program->getContext(), {}))
    if (auto text = dyn_cast<StringAttr>(value))
      result.push_back(text.str());
  if (has(key) && (!list || result.size() != list.size()))
    error(key) << "is " << find(key) << ", expected a list of strings";
  if (!list)
    for (StringRef text : otherwise)
      result.push_back(text.str());
  return result;
}

RecipeObject RecipeObject::object(StringRef key) const {
  auto dictionary = dyn_cast_or_null<DictionaryAttr>(find(key));
  if (has(key) && !dictionary)
    error(key) << "is " << find(key) << ", expected an object";
  return {program, dictionary, pathOf(key)};
}

std::vector<RecipeObject> RecipeObject::objects(StringRef key) const {
  auto list = dyn_cast_or_null<ArrayAttr>(find(key));
  std::vector<RecipeObject> result;
  for (auto [index, value] :
       llvm::enumerate(list ? list : ArrayAttr::get(program->getContext(), {})))
    if (auto dictionary = dyn_cast<DictionaryAttr>(value))
      result.emplace_back(program, dictionary,
                          pathOf(key) + "[" + std::to_string(index) + "]");
  if (has(key) && (!list || result.size() != list.size()))
    error(key) << "is " << find(key) << ", expected a list of objects";
  return result;
}

ErrorWatch::ErrorWatch(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        saw |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
        return failure(); // others are to have it, too
      }) {}

RecipeObject gradus::recipeOf(ProgramOp program) {
  return {program, program.getRecipeAttr(), ""};
}

std::string gradus::nearestFirst(StringRef name,
                                 ArrayRef<StringRef> candidates) {
  SmallVector<StringRef> sorted(candidates);
  llvm::sort(sorted);
  return llvm::join(byLikeness(name, sorted), ", ");
}
