// A recipe becomes a dictionary of MLIR attributes with the same keys.

#include "frontends/recipe/recipe.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mlir;

TEST(RecipeToAttribute, KeepsKeysAndTypes) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto recipe = gradus::recipe::read(
      R"({"seed": 7, "optimizer": {"type": "sgd", "momentum": 1}})", "r.json");
  DictionaryAttr attribute = gradus::recipe::toAttribute(*recipe, context);
  EXPECT_EQ(attribute.getAs<IntegerAttr>("seed").getInt(), 7);
  auto optimizer = attribute.getAs<DictionaryAttr>("optimizer");
  EXPECT_EQ(optimizer.getAs<StringAttr>("type"), "sgd");
  EXPECT_EQ(optimizer.getAs<FloatAttr>("momentum").getValueAsDouble(), 1.0);
  EXPECT_FALSE(optimizer.getAs<BoolAttr>("nesterov").getValue());
  EXPECT_EQ(attribute.getAs<ArrayAttr>("trainable").size(), 1u);
}

TEST(RecipeToAttribute, LeavesOutWhatIsNull) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto recipe = gradus::recipe::read("{}", "r.json");
  EXPECT_FALSE(gradus::recipe::toAttribute(*recipe, context).contains("clip"));
}
