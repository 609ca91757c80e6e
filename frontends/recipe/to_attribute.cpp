// A checked recipe as an MLIR dictionary, for the passes to read.

#include "frontends/recipe/recipe.h"

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

} // namespace

DictionaryAttr toAttribute(const Recipe &recipe, MLIRContext &context) {
  Builder builder(&context);
  return cast<DictionaryAttr>(convert(Json::parse(recipe.json), builder));
}

} // namespace gradus::recipe
