// A recipe becomes a dictionary of MLIR attributes with the same keys.

#include "frontends/recipe/recipe.h"

#include "mlir/IR/Builders.h"
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

TEST(RecipeToAttribute, IsReadBackAsItWas) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto recipe = gradus::recipe::read(
      R"({"precision": "bf16", "optimizer": {"type": "sgd", "nesterov": true,
          "momentum": 0.5}, "fixed": ["a", "b"], "inputs": {"dims": {"n": 3}}})",
      "r.json");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  DictionaryAttr attribute = gradus::recipe::toAttribute(*recipe, context);
  auto again =
      gradus::recipe::read(gradus::recipe::toJson(attribute), "again.json");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(gradus::recipe::toAttribute(*again, context), attribute);
}

/// A program's recipe says little; its `compat` chooses the other defaults.
TEST(RecipeToAttribute, LeavesDefaultsToTheFrameworkOfAProgram) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Builder builder(&context);
  NamedAttrList keys;
  keys.set("compat", builder.getStringAttr("mindspore"));
  auto recipe = gradus::recipe::read(
      gradus::recipe::toJson(keys.getDictionary(&context)), "r.json");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  auto optimizer = gradus::recipe::toAttribute(*recipe, context)
                       .getAs<DictionaryAttr>("optimizer");
  EXPECT_FALSE(optimizer.getAs<BoolAttr>("bias_correction").getValue());
  EXPECT_TRUE(optimizer.getAs<BoolAttr>("single_precision").getValue());
}

TEST(RecipeToAttribute, LeavesOutWhatIsNull) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto recipe = gradus::recipe::read("{}", "r.json");
  EXPECT_FALSE(gradus::recipe::toAttribute(*recipe, context).contains("clip"));
}
