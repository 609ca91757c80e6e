// Settings are filled from a program's recipe, every member of them.

#include "recipe/settings.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace gradus;
using namespace gradus::recipe;
using enum Kind;

namespace {

enum class Color { red, green };

struct Inner {
  int64_t count = -1;
};

struct Everything {
  bool flag = false;
  int64_t whole = -1;
  double real = -1;
  std::string text;
  Color color = {};
  std::vector<double> numbers;
  std::vector<Color> colors;
  std::optional<int64_t> maybe = 5;
  std::map<std::string, int64_t> named;
  Inner inner;
  std::optional<Inner> maybeInner;
};

Method<Everything> everything() {
  const Fields element = {Field{"", number, "0", "a number"}};
  const std::vector<Choice> choices = {{"red"}, {"green"}};
  const Fields color = {Field{"", choice, "\"red\"", "a color"}.among(choices)};
  const Keys<Inner> inner = {
      Field{"count", integer, "3", "how many"}.into(&Inner::count)};
  const Keys<Everything> keys = {
      Field{"flag", boolean, "true", "a flag"}.into(&Everything::flag),
      Field{"whole", integer, "2", "a number"}.into(&Everything::whole),
      Field{"real", number, "0.5", "a number"}
          .under({"mindspore"}, "7")
          .into(&Everything::real),
      Field{"text", Kind::text, "\"t\"", "a text"}.into(&Everything::text),
      Field{"color", choice, "\"green\"", "a color"}.among(choices).into(
          &Everything::color),
      Field{"numbers", list, "[1, 2.5]", "numbers"}.of(element).into(
          &Everything::numbers),
      Field{"colors", list, R"(["green", "red"])", "colors"}.of(color).into(
          &Everything::colors),
      Field{"maybe", integer, "null", "a number"}.into(&Everything::maybe),
      Field{"named", Kind::named, "{}", "numbers"}.of(element).into(
          &Everything::named),
      Field{"inner", object, "{}", "an object"}.of(inner).into(
          &Everything::inner),
      Field{"maybe_inner", object, "null", "an object"}.of(inner).into(
          &Everything::maybeInner)};
  Fields all(keys.begin(), keys.end());
  all.push_back(compat("of this object"));
  return {Field{"everything", object, "null", "all kinds"}.of(all).switched()};
}

/// A program with a recipe, in the context of its own.
struct Text {
  explicit Text(const std::string &recipe) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(
        "gradus.program @p attributes {recipe = {" + recipe + "}} {}",
        &context);
  }
  ProgramOp program() { return *module->getOps<ProgramOp>().begin(); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

std::optional<Everything> read(const std::string &recipe) {
  return everything().of(Text(recipe).program());
}

} // namespace

TEST(Settings, AreNoneWhereTheMethodIsOff) {
  EXPECT_FALSE(read(""));
  EXPECT_FALSE(read("everything")); // a unit: null or false
  EXPECT_FALSE(read("everything = false"));
  EXPECT_TRUE(read("everything = true"));
}

TEST(Settings, HaveTheDefaultsOfTheirKeys) {
  auto settings = read("everything = {}");
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->flag);
  EXPECT_EQ(settings->whole, 2);
  EXPECT_EQ(settings->real, 0.5);
  EXPECT_EQ(settings->text, "t");
  EXPECT_EQ(settings->color, Color::green);
  EXPECT_EQ(settings->numbers, (std::vector<double>{1, 2.5}));
  EXPECT_EQ(settings->colors, (std::vector{Color::green, Color::red}));
  EXPECT_FALSE(settings->maybe);
  EXPECT_TRUE(settings->named.empty());
  EXPECT_EQ(settings->inner.count, 3);
  EXPECT_FALSE(settings->maybeInner);
}

TEST(Settings, HaveWhatTheRecipeSays) {
  auto settings = read(R"(everything = {flag = false, whole = -4 : i64,
      real = 3 : i64, text = "u", color = "red", numbers = [], maybe = 9 : i64,
      colors = ["red"], named = {b = 2 : i64, a = 1 : i64},
      inner = {count = 8 : i64}, maybe_inner = {}})");
  ASSERT_TRUE(settings);
  EXPECT_FALSE(settings->flag);
  EXPECT_EQ(settings->whole, -4);
  EXPECT_EQ(settings->real, 3);
  EXPECT_EQ(settings->text, "u");
  EXPECT_EQ(settings->color, Color::red);
  EXPECT_TRUE(settings->numbers.empty());
  EXPECT_EQ(settings->colors, std::vector{Color::red});
  EXPECT_EQ(settings->maybe, 9);
  EXPECT_EQ(settings->named,
            (std::map<std::string, int64_t>{{"a", 1}, {"b", 2}}));
  EXPECT_EQ(settings->inner.count, 8);
  ASSERT_TRUE(settings->maybeInner);
  EXPECT_EQ(settings->maybeInner->count, 3);
}

TEST(Settings, FollowTheFrameworkOfTheRecipeOrOfTheirObject) {
  EXPECT_EQ(read(R"(compat = "mindspore", everything = {})")->real, 7);
  EXPECT_EQ(read(R"(everything = {compat = "mindspore"})")->real, 7);
  EXPECT_EQ(
      read(R"(compat = "mindspore", everything = {compat = "pytorch"})")->real,
      0.5);
  EXPECT_EQ(read(R"(compat = "mindspore", everything = {real = 1.0})")->real,
            1);
}

TEST(Settings, TakeANullForTheDefaultWhereItMeansNothing) {
  auto settings = read("everything = {whole, real, maybe}");
  EXPECT_EQ(settings->whole, 2);
  EXPECT_EQ(settings->real, 0.5);
  EXPECT_FALSE(settings->maybe);
}

TEST(Settings, TakeAWholeFloatForAnInteger) {
  EXPECT_EQ(read("everything = {whole = 4.0}")->whole, 4);
}

TEST(Settings, ReadAVariantByItsType) {
  struct Shape {
    enum class Type { circle, box } type = {};
    double radius = -1, width = -1;
  };
  const Keys<Shape> circle = {
      Field{"radius", number, "1", "a length"}.into(&Shape::radius)};
  const Keys<Shape> box = {
      Field{"width", number, "2", "a length"}.into(&Shape::width)};
  const Method<Shape> method = {Field{"shape", variant, "null", "a shape"}
                                    .among({{"circle", circle}, {"box", box}})
                                    .typeInto(&Shape::type)};
  auto shape = method.of(Text(R"(shape = {type = "box"})").program());
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->type, Shape::Type::box);
  EXPECT_EQ(shape->width, 2);
  EXPECT_EQ(shape->radius, -1);
}

TEST(Settings, TakeSomeOfTheRecipesOwnKeys) {
  struct Run {
    int64_t seed = -1;
    bool deterministic = true;
  };
  const Keys<Run> keys = {
      Field{"seed", integer, "0", "of draws"}.into(&Run::seed),
      Field{"deterministic", boolean, "false", "bits"}.into(
          &Run::deterministic)};
  Text text("seed = 7 : i64");
  Run run = recipe::read(text.program(), keys);
  EXPECT_EQ(run.seed, 7);
  EXPECT_FALSE(run.deterministic);
}
