// A checked recipe as an MLIR dictionary, for the passes to read, and back.

#include "frontends/recipe/fields.h"
#include "frontends/recipe/recipe.h"
#include "messages/json_text.h"

#include "mlir/IR/Builders.h"

#include <nlohmann/json.hpp>

namespace gradus::recipe {
namespace {

using namespace mlir;
using Json = nlohmann::ordered_json;

Attribute convert(const Json &value, Builder &builder);

Attribute convertObject(const Json &object, Builder &builder) {
  NamedAttrList members;
  for (const auto &[key, value] : object.items())
    if (!value.is_null())
      members.append(key, convert(value, builder));
  return members.getDictionary(builder.getContext());
}

Attribute convertList(const Json &list, Builder &builder) {
  SmallVector<Attribute> elements;
  for (const Json &element : list)
    elements.push_back(convert(element, builder));
  return builder.getArrayAttr(elements);
}

Attribute convert(const Json &value, Builder &builder) {
  if (value.is_object())
    return convertObject(value, builder);
  if (value.is_array())
    return convertList(value, builder);
  if (value.is_string())
    return builder.getStringAttr(value.get_ref<const std::string &>());
  if (value.is_boolean())
    return builder.getBoolAttr(value.get<bool>());
  if (value.is_number_float())
    return builder.getF64FloatAttr(value.get<double>());
  return builder.getI64IntegerAttr(value.get<int64_t>());
}

Json toJson(Attribute value);

Json objectOf(DictionaryAttr dictionary) {
  Json object = Json::object();
  for (NamedAttribute member : dictionary)
    object[member.getName().str()] = toJson(member.getValue());
  return object;
}

Json listOf(ArrayAttr elements) {
  Json list = Json::array();
  for (Attribute element : elements)
    list.push_back(toJson(element));
  return list;
}

Json toJson(Attribute value) {
  if (auto dictionary = dyn_cast<DictionaryAttr>(value))
    return objectOf(dictionary);
  if (auto elements = dyn_cast<ArrayAttr>(value))
    return listOf(elements);
  if (auto text = dyn_cast<StringAttr>(value))
    return text.str();
  if (auto flag = dyn_cast<BoolAttr>(value))
    return flag.getValue();
  if (auto real = dyn_cast<FloatAttr>(value))
    return real.getValueAsDouble();
  if (auto whole = dyn_cast<IntegerAttr>(value))
    return whole.getInt();
  return nullptr;
}

} // namespace

std::string toJson(DictionaryAttr attribute) {
  Json recipe = objectOf(attribute);
  for (const Field &field : recipeField().fields)
    if (field.shortForms.isSwitch &&
        isa_and_present<UnitAttr>(attribute.get(field.key)))
      recipe[field.key] = false;
  return jsonText(recipe, 2);
}

DictionaryAttr toAttribute(const Recipe &recipe, MLIRContext &context) {
  Builder builder(&context);
  Json keys = Json::parse(recipe.json);
  NamedAttrList members(cast<DictionaryAttr>(convertObject(keys, builder)));
  for (const Field &field : recipeField().fields)
    if (field.shortForms.isSwitch &&
        keys.value(std::string(field.key), Json()) == false)
      members.set(field.key, builder.getUnitAttr()); // passes read it as null
  return members.getDictionary(&context);
}

} // namespace gradus::recipe
