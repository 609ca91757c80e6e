// Names of weights by rules.

#include "frontends/compiler/name_map.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace gradus::compiler;

static NameMap mapped(const std::vector<std::string> &rules) {
  return *NameMap::of("--init-map", rules);
}

static std::string wordsOf(const absl::Status &status) {
  return std::string(status.message());
}

static std::string refusal(const std::string &rule) {
  return wordsOf(NameMap::of("--init-map", {rule}).status());
}

TEST(NameMap, RenamesByTheFirstRuleThatFits) {
  auto name = mapped({"head.*=", "encoder.*.w=body.*.weight", "x=y", "*=a.*"});
  EXPECT_EQ(name("head.bias"), "");
  EXPECT_EQ(name("encoder.3.w"), "body.3.weight");
  EXPECT_EQ(name("x"), "y");
  EXPECT_EQ(name("xx"), "a.xx");
}

TEST(NameMap, LeavesNamesThatNoRuleFits) {
  EXPECT_EQ(mapped({})("fc.weight"), "fc.weight");
  EXPECT_EQ(mapped({"a*a=b*"})("a"), "a") << "the star's sides overlap";
}

TEST(NameMap, SaysWhichRuleIsNone) {
  EXPECT_EQ(refusal("head"), "--init-map head: expected FROM=TO, such as "
                             "'encoder.*=backbone.*', or a file of JSON");
  EXPECT_EQ(refusal("*.*=x"),
            "--init-map *.*=x: *.* has several *; one is possible");
  EXPECT_EQ(refusal("a=*"), "--init-map a=*: * repeats a *, but a has none");
  EXPECT_EQ(refusal("a*=b"), "--init-map a*=b: all that fit a* would be named "
                             "b; repeat the *");
}

static std::string fileWith(const std::string &text) {
  std::string path =
      testing::TempDir() + "gradus_map." + std::to_string(getpid()) + ".json";
  std::ofstream(path) << text;
  return path;
}

TEST(NameMap, TakesRulesOfAFileInItsOrder) {
  auto name = mapped({"first=1", fileWith(R"({"head.*": null, "e.*": "b.*",
      "e.x": "never", "first": "never", "plain=name": "p"})")});
  EXPECT_EQ(name("first"), "1");
  EXPECT_EQ(name("head.bias"), "");
  EXPECT_EQ(name("e.x"), "b.x");
  EXPECT_EQ(name("plain=name"), "p");
}

TEST(NameMap, KnowsItsFiles) {
  EXPECT_TRUE(isRuleFile("m.json"));
  EXPECT_FALSE(isRuleFile("a=b"));
  EXPECT_FALSE(isRuleFile("a=m.json"));
}

TEST(NameMap, SaysWhichFileIsNone) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal("missing.json"),
              HasSubstr("--init-map missing.json: expected a file with a JSON "
                        "object"));
  for (const char *text : {"", "[1]", "{"})
    EXPECT_THAT(refusal(fileWith(text)), HasSubstr("expected a file with"));
  std::string device = testing::TempDir() + "gradus_map.device." +
                       std::to_string(getpid()) + ".json";
  std::filesystem::create_symlink("/dev/zero", device); // It has no end.
  EXPECT_THAT(refusal(device), HasSubstr("expected a file with"));
  std::filesystem::remove(device);
  std::string folder = testing::TempDir() + "gradus_map.folder.json";
  std::filesystem::create_directories(folder);
  EXPECT_THAT(refusal(folder), HasSubstr("folder.json: expected a file with"));
  std::filesystem::remove(folder);
  EXPECT_THAT(refusal(fileWith(std::string(1 << 20, '['))),
              HasSubstr(".json: expected a file with a JSON object"));
  EXPECT_THAT(refusal(fileWith(R"({"a": "b", "c": "d", "a": "e"})")),
              HasSubstr(".json: a stands twice; a name has one rule"));
  EXPECT_THAT(refusal(fileWith(R"({"a": 1})")),
              HasSubstr(".json: a becomes 1, expected a name or null"));
  EXPECT_THAT(refusal(fileWith(R"({"a*": "b"})")),
              HasSubstr(".json: a*=b: all that fit a* would be named b"));
}

/// What is said of a rule whose file has the tensors "encoder.w" and "head.b",
/// where the model has "body.w".
static std::string mismatch(const std::string &rule) {
  std::vector<std::string> from = {"encoder.w", "head.b"};
  absl::Status fits = mapped({rule}).checkFits("w.safetensors", from);
  return wordsOf(fits.ok() ? mapped({rule}).checkKnown(from, {"body.w"})
                           : fits);
}

TEST(NameMap, SaysWhichRuleNamesNothing) {
  EXPECT_EQ(mismatch("encoder.*=body.*"), "");
  EXPECT_EQ(mismatch("head.*="), "");
  EXPECT_EQ(mismatch("encodr.w=body.w"),
            "--init-map encodr.w=body.w: no tensor of w.safetensors fits "
            "encodr.w; did you mean encoder.w?");
  EXPECT_EQ(mismatch("encoder.*=bdy.*"),
            "--init-map encoder.*=bdy.*: the model has no bdy.w; did you mean "
            "body.w?");
}

TEST(NameMap, GivesEachTensorItsNewName) {
  using testing::ElementsAre;
  std::vector<std::string> names = {"head.w", "a.w", "b.w"};
  EXPECT_THAT(*mapped({"head.*="}).newNames(names),
              ElementsAre("", "a.w", "b.w"));
  // A tensor that is renamed comes before one that has the name already.
  EXPECT_THAT(*mapped({"head.w=b.w"}).newNames(names),
              ElementsAre("b.w", "a.w", ""));
  EXPECT_THAT(*mapped({"b.w=head.w"}).newNames(names),
              ElementsAre("", "a.w", "head.w"));
  EXPECT_EQ(wordsOf(mapped({"*.w=w*"}).newNames({"a.w", "a.w"}).status()),
            "tensors a.w and a.w are both meant for wa");
}
